//! Scopes, keys and record ids, and the small values that identify a claim.

use std::fmt;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::store::StoreError;

/// The scope in which a key is unique. It includes neither the session nor the request, because a retry has new ones.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    /// The identity of the caller, as the server verified it.
    pub principal: String,
    /// The server's name.
    pub server: String,
    /// The data that this server serves (a root, a data URL). Two folders that are served to one user share no key.
    pub instance: String,
    /// The tool that is called.
    pub tool: String,
}

/// A caller's name for one operation: 1 to 255 visible ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(String);

impl Key {
    /// Parses a key.
    ///
    /// # Errors
    /// Returns an error if the text is empty, is too long, or has a character that is not visible ASCII.
    ///
    /// ```
    /// use candor_ledger::Key;
    /// assert!(Key::new("order-2026-17").is_ok());
    /// assert!(Key::new("two words").is_err());
    /// ```
    pub fn new(text: impl Into<String>) -> Result<Self, BadKey> {
        let text = text.into();
        if text.is_empty() {
            return Err(BadKey::Empty);
        }
        if text.len() > 255 {
            return Err(BadKey::TooLong(text.len()));
        }
        match text.bytes().position(|byte| !byte.is_ascii_graphic()) {
            Some(at) => Err(BadKey::NotVisible(at)),
            None => Ok(Self(text)),
        }
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text is not a valid key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadKey {
    /// The text is empty.
    Empty,
    /// The text has this many bytes, which is too many.
    TooLong(usize),
    /// The byte at this offset is not a visible ASCII character.
    NotVisible(usize),
}

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the key is empty; use a fresh UUID for each operation"),
            Self::TooLong(len) => write!(f, "the key has {len} bytes; at most 255 are kept"),
            Self::NotVisible(at) => {
                write!(f, "the key has a character at byte {at} that is not visible ASCII")
            }
        }
    }
}

impl std::error::Error for BadKey {}

/// The identity of a record: one operation of one caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId {
    /// The scope in which the key is unique.
    pub scope: Scope,
    /// The caller's name for the operation.
    pub key: Key,
}

impl RecordId {
    /// Returns the name of the record in a store. It has a fixed size, however long the texts of the scope are. Each part is
    /// preceded by its length, so no two ids hash the same bytes.
    #[must_use]
    pub fn digest(&self) -> RecordDigest {
        let mut hash = Sha256::new();
        hash.update(b"candor-ledger/record/1");
        let Scope { principal, server, instance, tool } = &self.scope;
        for part in [principal, server, instance, tool, &self.key.0] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        RecordDigest(hash.finalize().into())
    }
}

/// Declares a byte array with a meaning, displayed as hexadecimal digits.
macro_rules! bytes {
    ($(#[$doc:meta])* $name:ident, $len:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub [u8; $len]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }
    };
}

bytes!(
    /// The digest of a [`RecordId`], which stores use as the key of a record.
    RecordDigest, 32
);
bytes!(
    /// The digest of a call's canonical arguments. It is equal if, and only if, the call is the same.
    Fingerprint, 32
);
bytes!(
    /// A digest of all that an approval is bound to beyond the call itself: tool definition, policy, and the state that a
    /// preview read. It has its own type, so that it is never mistaken for the digest of the arguments.
    Binding, 32
);

impl Binding {
    /// Combines the digest of the tool definition and the policy with the state digest of a preview, if the reviewer saw one.
    /// It keeps half of each: an accidental match of 128 bits is practically impossible.
    #[must_use]
    pub fn new(called: &[u8; 32], world: Option<&[u8; 32]>) -> Self {
        let mut both = [0; 32];
        both[..16].copy_from_slice(&called[..16]);
        if let Some(world) = world {
            both[16..].copy_from_slice(&world[..16]);
        }
        Self(both)
    }

    /// Returns true if both are about the same tool definition and policy. Ignores the state digest.
    #[must_use]
    pub fn is_about(&self, other: &Self) -> bool {
        self.0[..16] == other.0[..16]
    }
}
bytes!(
    /// The random id of a [`Grant`](crate::Grant).
    GrantId, 16
);
bytes!(
    /// The owner of a claim: a random id, new for each claim, so that no owner holds another's claim by accident.
    Owner, 16
);

/// The first hexadecimal digits of a [`RecordDigest`], which users type instead of all 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigestPrefix {
    /// The smallest digest with this prefix.
    first: RecordDigest,
    /// The largest digest with this prefix.
    last: RecordDigest,
}

impl DigestPrefix {
    /// Parses a prefix. Returns `None` if the text is empty, has more than 64 digits, or has a character that is not
    /// hexadecimal.
    ///
    /// ```
    /// use candor_ledger::DigestPrefix;
    /// assert!(DigestPrefix::new("3f9a").is_some());
    /// assert!(DigestPrefix::new("order-17").is_none());
    /// ```
    #[must_use]
    pub fn new(digits: &str) -> Option<Self> {
        if digits.is_empty() || digits.len() > 64 {
            return None;
        }
        let (mut first, mut last) = ([0; 32], [0xFF; 32]);
        for (at, digit) in digits.chars().enumerate() {
            let digit = u8::try_from(digit.to_digit(16)?).ok()?;
            let (shift, others) = if at % 2 == 0 { (4, 0x0F) } else { (0, 0xF0) };
            for bytes in [&mut first, &mut last] {
                bytes[at / 2] = bytes[at / 2] & others | digit << shift;
            }
        }
        Some(Self { first: RecordDigest(first), last: RecordDigest(last) })
    }

    /// Returns true if the digest has this prefix.
    #[must_use]
    pub fn begins(&self, digest: &RecordDigest) -> bool {
        (self.first..=self.last).contains(digest)
    }

    /// Returns the smallest and the largest digest with this prefix.
    #[must_use]
    pub fn bounds(&self) -> (&RecordDigest, &RecordDigest) {
        (&self.first, &self.last)
    }
}

impl Owner {
    /// Draws a new owner from the system's randomness.
    ///
    /// # Errors
    /// Returns an error if the system has no randomness.
    pub fn random() -> Result<Self, StoreError> {
        random().map(Self)
    }
}

impl GrantId {
    /// Draws a new id from the system's randomness.
    ///
    /// # Errors
    /// Returns an error if the system has no randomness.
    pub fn random() -> Result<Self, StoreError> {
        random().map(Self)
    }

    /// Parses the 32 hexadecimal digits that `Display` writes.
    #[must_use]
    pub fn parse(digits: &str) -> Option<Self> {
        let digits: &[u8; 32] = digits.as_bytes().try_into().ok()?;
        let digit = |at: usize| char::from(digits[at]).to_digit(16);
        let mut bytes = [0; 16];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::try_from(digit(2 * at)? << 4 | digit(2 * at + 1)?).ok()?;
        }
        Some(Self(bytes))
    }
}

fn random() -> Result<[u8; 16], StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| StoreError::Unavailable(format!("no randomness: {error}")))?;
    Ok(bytes)
}

/// The number of a claim, resume or approval request within its record. It only grows: a holder with a smaller number has
/// lost the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fence(pub u64);

impl Fence {
    pub(crate) const FIRST: Self = Self(1);

    pub(crate) const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// A point in time on the *store's* clock: milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Moment(pub i64);

impl Moment {
    /// Returns the moment that is `time` later.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Returns the time from here until then, or zero if that has passed.
    #[must_use]
    pub fn until(self, then: Self) -> Duration {
        Duration::from_millis(u64::try_from(then.0.saturating_sub(self.0)).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(tool: &str, key: &str) -> RecordId {
        RecordId {
            scope: Scope {
                principal: "ada".into(),
                server: "s".into(),
                instance: "i".into(),
                tool: tool.into(),
            },
            key: Key::new(key).unwrap(),
        }
    }

    #[test]
    fn key_must_be_short_and_visible_ascii() {
        assert_eq!(Key::new(""), Err(BadKey::Empty));
        assert_eq!(Key::new("k".repeat(256)), Err(BadKey::TooLong(256)));
        assert_eq!(Key::new("ab\ncd"), Err(BadKey::NotVisible(2)));
        assert_eq!(Key::new("é"), Err(BadKey::NotVisible(0)));
        assert!(Key::new("k".repeat(255)).is_ok());
    }

    #[test]
    fn digest_prefix_matches_only_its_own_digest() {
        let digest = id("a", "b").digest();
        let digits = digest.to_string();
        for len in 1..=64 {
            let prefix = DigestPrefix::new(&digits[..len]).unwrap();
            assert!(prefix.begins(&digest), "{len}");
            let other = if digits.as_bytes()[len - 1] == b'0' { '1' } else { '0' };
            let other = DigestPrefix::new(&format!("{}{other}", &digits[..len - 1])).unwrap();
            assert!(!other.begins(&digest), "{len}");
        }
        assert_eq!(DigestPrefix::new(&digits.to_uppercase()), DigestPrefix::new(&digits));
        for none in ["", "g", "12 ", "é", &"0".repeat(65)] {
            assert_eq!(DigestPrefix::new(none), None, "{none}");
        }
    }

    #[test]
    fn grant_id_parses_as_displayed() {
        let id = GrantId(std::array::from_fn(|at| at as u8 * 17));
        assert_eq!(GrantId::parse(&id.to_string()), Some(id));
        for none in ["", "0", &"g".repeat(32), &"0".repeat(33), &"é".repeat(16)] {
            assert_eq!(GrantId::parse(none), None, "{none}");
        }
    }

    #[test]
    fn digest_depends_on_the_borders_between_parts() {
        assert_ne!(id("ab", "c").digest(), id("a", "bc").digest());
        assert_eq!(id("ab", "c").digest(), id("ab", "c").digest());
    }
}

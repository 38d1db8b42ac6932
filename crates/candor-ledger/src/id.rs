//! Whose call, of what, under which key; and the small values that a claim is held by.

use std::fmt;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::store::StoreError;

/// Where a key is unique. Never the session and never the request: both are gone when a call is sent again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    /// Who calls, as the server has verified it.
    pub principal: String,
    /// The server's name.
    pub server: String,
    /// What this server serves (a root, a data URL), so that two folders served to one person share no key.
    pub instance: String,
    /// The tool that is called.
    pub tool: String,
}

/// A caller's name for one operation: 1 to 255 visible ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(String);

impl Key {
    /// # Errors
    /// It is empty, too long, or has a character that is not visible ASCII.
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

    /// Its text.
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

/// Why a text is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadKey {
    /// There is nothing in it.
    Empty,
    /// It has this many bytes.
    TooLong(usize),
    /// The byte at this place is not a visible ASCII character.
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

/// One operation of one caller: what a record is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId {
    /// Where the key is unique.
    pub scope: Scope,
    /// The caller's name for the operation.
    pub key: Key,
}

impl RecordId {
    /// The name of the record in a store: short and of one size, whatever the scope's texts are. Each part is preceded by its
    /// length, so no two ids have the same text.
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

/// Declares an array of bytes with a meaning, shown as hexadecimal digits.
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
    /// A [`RecordId`] as a store's key.
    RecordDigest, 32
);
bytes!(
    /// A digest of a call's canonical arguments: equal if, and only if, it is the same call.
    Fingerprint, 32
);
bytes!(
    /// A digest of all that an approval is bound to beyond the call itself: the definition of the tool, the policy. A type of its own, so
    /// that it is never taken for the arguments' digest.
    Binding, 32
);

impl Binding {
    /// Of digests: of what is called, as it is now, and of the world that whoever decides was shown, if they were. Half of each
    /// is kept, which is more than anybody can meet by chance.
    #[must_use]
    pub fn new(called: &[u8; 32], world: Option<&[u8; 32]>) -> Self {
        let mut both = [0; 32];
        both[..16].copy_from_slice(&called[..16]);
        if let Some(world) = world {
            both[16..].copy_from_slice(&world[..16]);
        }
        Self(both)
    }

    /// Whether both are about the same thing, whatever the world.
    #[must_use]
    pub fn is_about(&self, other: &Self) -> bool {
        self.0[..16] == other.0[..16]
    }
}
bytes!(
    /// The name of a [`Grant`](crate::Grant), drawn at random.
    GrantId, 16
);
bytes!(
    /// Who holds a claim: drawn at random for each claim, so that nobody holds another's by accident.
    Owner, 16
);

/// The first hexadecimal digits of a [`RecordDigest`]: what people write instead of all 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigestPrefix {
    /// The least digest that begins so.
    first: RecordDigest,
    /// The greatest.
    last: RecordDigest,
}

impl DigestPrefix {
    /// `None`: there is no digit, there are more than 64, or one is not hexadecimal.
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

    /// Whether a digest begins so.
    #[must_use]
    pub fn begins(&self, digest: &RecordDigest) -> bool {
        (self.first..=self.last).contains(digest)
    }

    /// The least and the greatest digest that begin so.
    #[cfg(feature = "sqlite")]
    pub(crate) fn bounds(&self) -> (&RecordDigest, &RecordDigest) {
        (&self.first, &self.last)
    }
}

impl Owner {
    /// A new one, from the system's randomness.
    ///
    /// # Errors
    /// The system has none to give.
    pub fn random() -> Result<Self, StoreError> {
        random().map(Self)
    }
}

impl GrantId {
    /// A new one, from the system's randomness.
    pub(crate) fn random() -> Result<Self, StoreError> {
        random().map(Self)
    }

    /// From its 32 hexadecimal digits, as it is shown.
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

/// The number of a claim within its record. It only ever grows: who holds a smaller one has lost the record.
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
    /// So much later.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long it is from here until then; nothing if that has passed.
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
    fn a_key_is_short_and_visible() {
        assert_eq!(Key::new(""), Err(BadKey::Empty));
        assert_eq!(Key::new("k".repeat(256)), Err(BadKey::TooLong(256)));
        assert_eq!(Key::new("ab\ncd"), Err(BadKey::NotVisible(2)));
        assert_eq!(Key::new("é"), Err(BadKey::NotVisible(0)));
        assert!(Key::new("k".repeat(255)).is_ok());
    }

    #[test]
    fn the_digits_of_a_digest_begin_it() {
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
    fn the_name_of_a_grant_is_read_as_it_is_shown() {
        let id = GrantId(std::array::from_fn(|at| at as u8 * 17));
        assert_eq!(GrantId::parse(&id.to_string()), Some(id));
        for none in ["", "0", &"g".repeat(32), &"0".repeat(33), &"é".repeat(16)] {
            assert_eq!(GrantId::parse(none), None, "{none}");
        }
    }

    #[test]
    fn what_moves_from_one_part_to_the_next_is_another_record() {
        assert_ne!(id("ab", "c").digest(), id("a", "bc").digest());
        assert_eq!(id("ab", "c").digest(), id("ab", "c").digest());
    }
}

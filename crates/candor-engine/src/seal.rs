//! The server's secret, and tokens that only a server with this secret can make.
//!
//! Cursors and round state travel through the client, which must not be able to change them. Each purpose has a sub-key of its own,
//! so that a token for one purpose is invalid for another.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;

pub(crate) use candor_operator::hex;

const KEY_BYTES: usize = 32;

/// The server secret. Replicas that share it accept each other's tokens.
///
/// The first key makes tokens, and the others are still accepted. To rotate a secret, put a new key in front, and drop the old one
/// after the longest token has expired.
#[derive(Clone)]
pub struct Secret(Vec<[u8; KEY_BYTES]>);

/// Why a text is not a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretError {
    line: usize,
}

impl fmt::Display for SecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {} is not 64 hexadecimal digits; make a key with `openssl rand -hex 32`",
            self.line
        )
    }
}

impl std::error::Error for SecretError {}

impl Secret {
    /// Creates a random secret. Tokens made with it end with the process.
    ///
    /// # Panics
    /// If the operating system has no randomness.
    #[must_use]
    pub fn random() -> Self {
        Self(vec![random_bytes()])
    }

    /// Creates a random key as a line for [`Secret::from_lines`]. Store it where no other user can read it.
    ///
    /// # Panics
    /// If the operating system has no randomness.
    #[must_use]
    pub fn random_line() -> String {
        hex(&random_bytes::<KEY_BYTES>()) + "\n"
    }

    /// Parses keys as 64 hexadecimal digits per line, newest first. Skips empty lines and `#` comments.
    ///
    /// ```
    /// # use candor_server::Secret;
    /// let shared = Secret::from_lines(&format!("# rotated in May\n{}\n{}\n", "ab".repeat(32), "cd".repeat(32)));
    /// assert!(shared.is_ok());
    /// assert!(Secret::from_lines("too short").unwrap_err().to_string().starts_with("line 1 is not 64"));
    /// ```
    pub fn from_lines(text: &str) -> Result<Self, SecretError> {
        let mut keys = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            keys.push(key_from_hex(line).ok_or(SecretError { line: i + 1 })?);
        }
        if keys.is_empty() { Err(SecretError { line: 1 }) } else { Ok(Self(keys)) }
    }

    /// Returns what makes and opens tokens for one purpose.
    #[must_use]
    pub fn seal(&self, purpose: &str) -> Seal {
        Seal { keys: self.0.iter().map(|key| derive(key, purpose)).collect() }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

fn key_from_hex(line: &str) -> Option<[u8; KEY_BYTES]> {
    let digits: Vec<u8> = line
        .chars()
        .map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok()))
        .collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    if digits.len() == 2 * KEY_BYTES { bytes.try_into().ok() } else { None }
}

fn derive(key: &[u8; KEY_BYTES], purpose: &str) -> [u8; KEY_BYTES] {
    let mut derived = [0; KEY_BYTES];
    Hkdf::<Sha256>::new(None, key)
        .expand(purpose.as_bytes(), &mut derived)
        .expect("32 bytes are within what HKDF can give");
    derived
}

/// Returns random bytes from the operating system.
pub(crate) fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    bytes
}

/// Returns a random name: 32 hexadecimal digits.
///
/// # Panics
/// If the operating system has no randomness.
#[must_use]
pub fn random_id() -> String {
    hex(&random_bytes::<16>())
}

/// Makes and opens tokens for one purpose. They are signed, not encrypted: the client can read the payload.
#[derive(Clone)]
pub struct Seal {
    keys: Vec<[u8; KEY_BYTES]>,
}

impl Seal {
    /// Returns a token for this payload.
    #[must_use]
    pub fn close(&self, payload: &[u8]) -> String {
        let mut token = payload.to_vec();
        token.extend_from_slice(&mac(&self.keys[0], payload).finalize().into_bytes());
        BASE64.encode(token)
    }

    /// Returns a digest that requires the newest key, so that no other party can test values against it.
    pub(crate) fn digest(&self, payload: &[u8]) -> [u8; 32] {
        mac(&self.keys[0], payload).finalize().into_bytes().into()
    }

    /// Returns the payload, if one of the server's keys made the token.
    pub fn open(&self, token: &str) -> Option<Vec<u8>> {
        let mut payload = BASE64.decode(token).ok()?;
        let tag = payload.split_off(payload.len().checked_sub(KEY_BYTES)?);
        self.keys.iter().any(|key| mac(key, &payload).verify_slice(&tag).is_ok()).then_some(payload)
    }
}

fn mac(key: &[u8; KEY_BYTES], payload: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of every length");
    mac.update(payload);
    mac
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rotated_secret_opens_old_tokens_and_seals_with_the_new() {
        let (old, new) = ("ab".repeat(32), "cd".repeat(32));
        let before = Secret::from_lines(&old).unwrap().seal("x");
        let during = Secret::from_lines(&format!("{new}\n{old}")).unwrap().seal("x");
        let after = Secret::from_lines(&new).unwrap().seal("x");
        assert_eq!(during.open(&before.close(b"p")), Some(b"p".to_vec()));
        assert_eq!(after.open(&during.close(b"p")), Some(b"p".to_vec()));
        assert_eq!(after.open(&before.close(b"p")), None);
    }

    #[test]
    fn token_of_another_purpose_does_not_open() {
        let secret = Secret::random();
        assert_eq!(secret.seal("cursor").open(&secret.seal("round").close(b"p")), None);
    }

    proptest! {
        #[test]
        fn changed_token_does_not_open(payload in prop::collection::vec(any::<u8>(), 0..40), at in any::<prop::sample::Index>(), to in any::<u8>()) {
            let seal = Secret::random().seal("x");
            let token = seal.close(&payload);
            prop_assert_eq!(seal.open(&token), Some(payload));
            let mut bytes = token.clone().into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = to;
            if let Ok(changed) = String::from_utf8(bytes) && changed != token {
                prop_assert_eq!(seal.open(&changed), None);
            }
        }
    }
}

//! Digests of values that are too long to compare.

use sha2::{Digest as _, Sha256};

/// Returns the SHA-256 of some bytes, in hexadecimal digits.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    in_digits(&Sha256::digest(bytes))
}

/// Returns the SHA-256 of several texts, in hexadecimal digits. A length before each text separates it from the next.
pub(crate) fn of(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    in_digits(&digest.finalize())
}

fn in_digits(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

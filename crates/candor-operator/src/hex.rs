//! Bytes as hexadecimal digits.

use std::fmt::Write as _;

/// Encodes each byte as two lowercase digits.
pub fn hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

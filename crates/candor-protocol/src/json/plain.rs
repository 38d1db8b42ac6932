//! Steps over the plain part of a string, eight bytes at a time.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Returns the position of the first quote, backslash or control character from `at` on, or the end of `bytes`.
pub(super) fn end_of_plain(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..at + 8).and_then(|chunk| chunk.try_into().ok()) {
        let word = u64::from_le_bytes(chunk);
        let special =
            is_zero(word ^ (ONES * 0x22)) | is_zero(word ^ (ONES * 0x5c)) | is_less_than_32(word);
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|b| !matches!(b, b'"' | b'\\' | 0..=0x1f)) {
        at += 1;
    }
    at
}

/// Returns the high bit of the lowest byte that is zero, and perhaps high bits of bytes above it.
fn is_zero(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGHS
}

/// Returns the high bit of the lowest byte below 32, and perhaps high bits of bytes above it.
fn is_less_than_32(word: u64) -> u64 {
    word.wrapping_sub(ONES * 0x20) & !word & HIGHS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn end_of_plain_text_matches_a_bytewise_search(bytes in prop::collection::vec(any::<u8>(), 0..40), from in 0..8_usize) {
            let at = from.min(bytes.len());
            let slow = bytes[at..].iter().position(|b| matches!(b, b'"' | b'\\' | 0..=0x1f)).map_or(bytes.len(), |n| at + n);
            prop_assert_eq!(end_of_plain(&bytes, at), slow);
        }
    }
}

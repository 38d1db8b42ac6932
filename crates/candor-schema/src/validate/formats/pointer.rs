//! JSON Pointers (RFC 6901) and UUIDs (RFC 4122).

pub(super) fn is_pointer(text: &str) -> bool {
    (text.is_empty() || text.starts_with('/'))
        && text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']))
}

/// Returns true for a number of levels up, followed by a pointer or `#`.
pub(super) fn is_relative_pointer(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (up, rest) = text.split_at(digits);
    let number = !up.is_empty() && (up == "0" || !up.starts_with('0'));
    number && (rest == "#" || is_pointer(rest))
}

pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

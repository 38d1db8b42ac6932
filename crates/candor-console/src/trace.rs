//! By which name the log and whoever was told of a failure speak of the same request.

use http::HeaderMap;

/// The header of a W3C trace context.
pub(crate) const TRACEPARENT: &str = "traceparent";

/// The caller's own trace, if it brought one; otherwise a new name. 32 hexadecimal digits.
pub(crate) fn id(headers: &HeaderMap) -> String {
    let brought = headers.get(TRACEPARENT).and_then(|value| value.to_str().ok());
    let brought = brought.and_then(|text| text.split('-').nth(1)).filter(|id| is_id(id));
    brought.map_or_else(new, str::to_owned)
}

fn is_id(text: &str) -> bool {
    let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == 32 && text.bytes().all(hex) && text.bytes().any(|byte| byte != b'0')
}

pub(crate) fn new() -> String {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    bytes.map(|byte| format!("{byte:02x}")).concat()
}

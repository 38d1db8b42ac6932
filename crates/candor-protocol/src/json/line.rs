//! JSON in one line, for transports whose messages end where a line does.

/// Puts a space in the place of every line break. Text that others wrote is passed on as they wrote it, and what is laid out over
/// several lines would be several messages to whoever reads line by line. No value changes: in a string a line break is `\\n`.
///
/// ```
/// use candor_protocol::json::in_one_line;
///
/// let mut json = b"{\"a\":\n{\"b\": \"c\\nd\"}\r\n}".to_vec();
/// in_one_line(&mut json);
/// assert_eq!(json, b"{\"a\": {\"b\": \"c\\nd\"}  }");
/// ```
pub fn in_one_line(json: &mut [u8]) {
    for byte in json {
        if matches!(*byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

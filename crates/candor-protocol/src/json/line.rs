//! JSON on one line, for transports that end a message with its line.

/// Replaces every line break with a space. Text of a peer is passed on as the peer wrote it. If it has several lines, a reader
/// that reads line by line would see several messages. No value changes: in a string, a line break is `\n`.
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

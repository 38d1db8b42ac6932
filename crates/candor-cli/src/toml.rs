//! The parts of TOML that this program writes.

use candor::operator::shown::fools;

/// Returns a string in quotes. Characters that could fool a terminal are escaped.
pub(crate) fn string(text: &str) -> String {
    use std::fmt::Write as _;
    let mut quoted = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            _ if fools(c) => {
                let _ = write!(quoted, "\\U{:08X}", u32::from(c));
            }
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns a key, in quotes if it needs them.
pub(crate) fn key(name: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    if !name.is_empty() && name.bytes().all(bare) { name.to_owned() } else { string(name) }
}

/// Returns a list of strings.
pub(crate) fn strings(texts: &[String]) -> String {
    let texts: Vec<_> = texts.iter().map(|text| string(text)).collect();
    format!("[{}]", texts.join(", "))
}

#[cfg(test)]
mod tests {
    #[test]
    fn toml_string_escapes_quotes_and_control_characters() {
        assert_eq!(super::string(r#"C:\a "b""#), r#""C:\\a \"b\"""#);
        assert_eq!(super::string("a\nb\u{202e}"), r#""a\U0000000Ab\U0000202E""#);
    }
}

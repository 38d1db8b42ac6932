//! JSON with comments and trailing commas, as hosts write it.

/// Returns the text as plain JSON. Comments and trailing commas become spaces, so lines and columns stay.
pub(super) fn plain(text: &str) -> String {
    let mut bytes = text.strip_prefix('\u{feff}').unwrap_or(text).as_bytes().to_vec();
    let mut at = 0;
    // The last comma, as long as only whitespace and comments have followed it.
    let mut comma = None;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'"', _) => {
                comma = None;
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            (b'/', Some(b'/')) => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    bytes[at] = b' ';
                    at += 1;
                }
                continue;
            }
            (b'/', Some(b'*')) => {
                let end = bytes[at + 2..].windows(2).position(|two| two == b"*/");
                let Some(end) = end.map(|end| at + 2 + end + 2) else { break };
                bytes[at..end].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
                at = end;
                continue;
            }
            (b',', _) => comma = Some(at),
            (b'}' | b']', _) => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            (byte, _) if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += 1;
    }
    // Only whole characters became spaces, so the bytes are still UTF-8.
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::plain;

    #[test]
    fn comments_and_trailing_commas_are_ignored() {
        let text = r#"{
            // a comment, with "quotes" and ünïcode
            "a": "http://x/*no*/,]", /* another,
            of two lines */ "b": [1, 2, /* ! */ ],
            "c\\": "\"//",
        }"#;
        let value: Value = serde_json::from_str(&plain(text)).unwrap();
        assert_eq!(value, json!({"a": "http://x/*no*/,]", "b": [1, 2], "c\\": "\"//"}));
    }

    #[test]
    fn error_positions_ignore_removed_comments() {
        let problem =
            serde_json::from_str::<Value>(&plain("{ /* ü\n */\n // x\n  !}")).unwrap_err();
        assert_eq!((problem.line(), problem.column()), (4, 3));
    }

    #[test]
    fn invalid_jsonc_stays_invalid() {
        for text in ["", "{", "\"", "\"\\", "/*", "/", "[,]x", "{,", "//", "[1,,2]", "/*/"] {
            assert!(serde_json::from_str::<Value>(&plain(text)).is_err(), "{text}");
        }
        assert_eq!(plain("\u{feff}{}"), "{}");
    }
}

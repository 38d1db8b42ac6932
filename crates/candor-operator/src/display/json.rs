//! JSON of the ledger, written for terminals: no digit and no member changes, whatever a parser would make of it.

use candor_protocol::json::RawValue;

use super::shown::json_shown;

/// Maximum depth of indentation: deeply nested JSON must not fill the disk with spaces.
const DEEPEST: usize = 32;

/// Returns the bytes as JSON text, if they are JSON.
pub fn text(bytes: &[u8]) -> Option<&str> {
    serde_json::from_slice::<&RawValue>(bytes).ok().map(RawValue::get)
}

/// Returns the JSON on one line.
pub fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for part in parts(json) {
        out.push_str(part);
    }
    json_shown(&out)
}

/// Returns the JSON on several lines, each of which begins with `margin`.
pub fn pretty(json: &str, margin: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let mut parts = parts(json).peekable();
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(margin);
        (0..depth.min(DEEPEST)).for_each(|_| out.push_str("  "));
    };
    out.push_str(margin);
    while let Some(part) = parts.next() {
        match part {
            "{" | "[" => {
                out.push_str(part);
                match parts.next_if(|next| matches!(*next, "}" | "]")) {
                    Some(close) => out.push_str(close),
                    None => {
                        depth += 1;
                        line(&mut out, depth);
                    }
                }
            }
            "}" | "]" => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push_str(part);
            }
            "," => {
                out.push_str(part);
                line(&mut out, depth);
            }
            ":" => out.push_str(": "),
            scalar => out.push_str(scalar),
        }
    }
    json_shown(&out)
}

/// Returns the tokens of the text, without the whitespace between them: brackets, commas, colons, strings, and everything else.
fn parts(json: &str) -> impl Iterator<Item = &str> {
    let mut rest = json;
    std::iter::from_fn(move || {
        rest = rest.trim_ascii_start();
        let bytes = rest.as_bytes();
        let end = match bytes.first()? {
            b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
            b'"' => end_of_string(bytes),
            _ => bytes
                .iter()
                .position(|byte| b"{}[],: \t\r\n\"".contains(byte))
                .unwrap_or(bytes.len()),
        };
        let (part, behind) = rest.split_at(end);
        rest = behind;
        Some(part)
    })
}

fn end_of_string(bytes: &[u8]) -> usize {
    let mut escaped = false;
    for (at, byte) in bytes.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatting_preserves_digits_order_and_strings() {
        let json = "{ \"b\" : 12345678901234567890123.10 ,\n \"a\":[ ] , \"c\": [1,{}], \"d\\\"{,:\": \"x y\\\\\" }";
        assert_eq!(
            compact(json),
            r#"{"b":12345678901234567890123.10,"a":[],"c":[1,{}],"d\"{,:":"x y\\"}"#
        );
        let expected = "  {\n    \"b\": 12345678901234567890123.10,\n    \"a\": [],\n    \"c\": [\n      1,\n      {}\n    ],\n    \
                        \"d\\\"{,:\": \"x y\\\\\"\n  }";
        assert_eq!(pretty(json, "  "), expected);
        assert_eq!(compact(&pretty(json, " ")), compact(json));
    }

    #[test]
    fn pretty_output_of_deep_json_is_bounded() {
        let deep = "[".repeat(10_000) + &"]".repeat(10_000);
        assert!(pretty(&deep, "").len() < 2_000_000);
        assert_eq!(text(b"no json"), None);
        assert_eq!(text(b" 1 "), Some("1"));
    }
}

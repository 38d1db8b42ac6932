//! Untrusted text on a terminal.
//!
//! A key, a name or a result may contain characters that move the cursor, change the writing direction, or are invisible. This
//! module writes them as escapes, so that a line shows exactly what it contains.

use std::fmt::{self, Write as _};

/// Wraps a text for display: characters that could mislead a user are written as escapes.
pub fn shown(text: &str) -> Shown<'_> {
    Shown(text)
}

/// A text that is safe to show.
pub struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                _ if c.is_control() => write!(f, "{}", c.escape_default())?,
                _ if fools(c) => write!(f, "{}", c.escape_unicode())?,
                _ => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Returns a text for display, cut to at most `most` characters.
pub fn cut(text: &str, most: usize) -> String {
    let shown = shown(text).to_string();
    if shown.chars().count() <= most {
        return shown;
    }
    shown.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Returns JSON for users and programs: characters that could mislead a user become JSON escapes, so no value changes. The
/// text must be JSON, so that such characters are inside strings only.
pub fn json_shown(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && fools(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(c);
        }
    }
    text
}

/// Returns true for characters that are invisible, or that change how others look. This is stricter than for file names, which
/// may be words of a language that needs joiners, or an emoji.
#[must_use]
pub fn fools(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misleading_characters_are_escaped() {
        assert_eq!(shown("café ✓").to_string(), "café ✓");
        assert_eq!(shown("a\u{1b}[2Jb\n\u{9b}").to_string(), r"a\u{1b}[2Jb\n\u{9b}");
        assert_eq!(shown("\u{202e}cod.\u{200d}").to_string(), r"\u{202e}cod.\u{200d}");
    }

    #[test]
    fn text_is_cut_after_escaping() {
        assert_eq!(cut("order-17", 8), "order-17");
        assert_eq!(cut("order-17", 7), "order-…");
        assert_eq!(cut("\u{1b}\u{1b}", 7), r"\u{1b}…");
    }

    #[test]
    fn escaped_json_keeps_its_value() {
        let value = serde_json::json!({"\u{202e}": ["\u{1b}[0m\u{7f}\u{9b}", "\u{e0041}", "é"]});
        let text = json_shown(&value.to_string());
        assert!(!text.chars().any(fools), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}

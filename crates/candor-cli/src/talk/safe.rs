//! Texts that a server wrote, for our terminal.

use candor::desk::shown::shown;

/// A text of several lines: each is safe to show, and they stay lines.
pub(super) fn text(text: &str) -> String {
    text.trim_end_matches(['\n', '\r']).split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The same, each line marked as somebody else's.
pub(super) fn quoted(text: &str) -> String {
    let text = self::text(text);
    text.split('\n').map(|line| format!("  | {line}")).collect::<Vec<_>>().join("\n")
}

/// On one line, whatever is in it.
pub(super) fn line(text: &str) -> String {
    let text = text.strip_suffix('\r').unwrap_or(text);
    text.split('\t').map(|part| shown(part).to_string()).collect::<Vec<_>>().join("\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_tabs_stay_and_nothing_else_moves_the_cursor() {
        assert_eq!(text("a\tb\r\nc\u{1b}[2J\rd\n"), "a\tb\nc\\u{1b}[2J\\rd");
        assert_eq!(quoted("a\nb"), "  | a\n  | b");
        assert_eq!(text("\u{202e}"), "\\u{202e}");
    }
}

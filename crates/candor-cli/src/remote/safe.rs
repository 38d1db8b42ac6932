//! Text from a server, made safe for the terminal.

use std::io;

use candor::operator::shown::shown;

use crate::terminal;
use crate::width::{fitting, rows};

/// Makes a text of several lines safe to show, and keeps its lines.
pub(super) fn text(text: &str) -> String {
    text.trim_end_matches(['\n', '\r']).split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Makes a text safe to show, and marks each line as the server's.
pub(super) fn quoted(text: &str) -> String {
    let text = self::text(text);
    text.split('\n').map(marked).collect::<Vec<_>>().join("\n")
}

/// The mark at the beginning of each row of a server's text.
pub(super) const MARK: &str = "  | ";

/// Marks a line that is safe to show, in as many rows as it takes on the terminal.
pub(super) fn marked(line: &str) -> String {
    marked_with(MARK, line)
}

/// Marks a line with another mark. A row that the terminal wraps would continue without it, and could pass for Candor's own text.
pub(super) fn marked_with(mark: &str, line: &str) -> String {
    let Some(columns) = narrowest() else { return format!("{mark}{line}") };
    let rows = rows(line, columns.saturating_sub(mark.len()));
    rows.iter().map(|row| format!("{mark}{row}")).collect::<Vec<_>>().join("\n")
}

/// Returns the number of columns of the narrower terminal, if stdout or stderr is one.
fn narrowest() -> Option<usize> {
    [terminal::columns(io::stderr()), terminal::columns(io::stdout())].into_iter().flatten().min()
}

/// How much of a text is shown: lines, and columns of each.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    pub(super) lines: usize,
    pub(super) columns: usize,
}

/// More of a preview would push the question out of sight.
pub(super) const PREVIEW: Extent = Extent { lines: 40, columns: 200 };

/// For a text that is all there is to decide by, or that explains a failure.
pub(super) const WHOLE: Extent = Extent { lines: 400, columns: 4000 };

/// Returns the text marked and truncated, and how much is left out.
pub(super) fn excerpt(text: &str, most: Extent) -> String {
    let text = self::text(text);
    let lines: Vec<&str> = text.split('\n').collect();
    let mut hidden = 0;
    let mut shown: Vec<String> = Vec::new();
    for line in lines.iter().take(most.lines) {
        let beginning = fitting(line, most.columns);
        hidden += line.chars().count() - beginning.chars().count();
        let more = if beginning.len() < line.len() { "…" } else { "" };
        shown.push(marked(&format!("{beginning}{more}")));
    }
    let left = &lines[lines.len().min(most.lines)..];
    hidden += left.iter().map(|line| line.chars().count()).sum::<usize>();
    if hidden > 0 || !left.is_empty() {
        let lines = match left.len() {
            0 => String::new(),
            1 => "1 line, ".to_owned(),
            more => format!("{more} lines, "),
        };
        shown.push(format!("  (not shown: {lines}{hidden} characters)"));
    }
    shown.join("\n")
}

/// Returns a short text of a server in quotes, on one line.
pub(super) fn quote(text: &str) -> String {
    format!("\"{}\"", line(&text.replace('"', "'").replace('\n', " ")))
}

/// Makes a text safe to show on one line, whatever is in it.
pub(super) fn line(text: &str) -> String {
    let text = text.strip_suffix('\r').unwrap_or(text);
    text.split('\t').map(|part| shown(part).to_string()).collect::<Vec<_>>().join("\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_keeps_only_line_breaks_and_tabs() {
        assert_eq!(text("a\tb\r\nc\u{1b}[2J\rd\n"), "a\tb\nc\\u{1b}[2J\\rd");
        assert_eq!(quoted("a\nb"), "  | a\n  | b");
        assert_eq!(text("\u{202e}"), "\\u{202e}");
    }

    #[test]
    fn long_excerpt_counts_the_omitted_text() {
        assert_eq!(excerpt("a\nb", PREVIEW), "  | a\n  | b");
        let long = format!("{}\n{}", "x".repeat(205), "y\n".repeat(50));
        let cut = excerpt(&long, PREVIEW);
        assert_eq!(cut.lines().count(), 41);
        assert!(cut.ends_with("  (not shown: 11 lines, 16 characters)"), "{cut}");
        assert_eq!(quote("a \"b\"\nc"), "\"a 'b' c\"");
    }
}

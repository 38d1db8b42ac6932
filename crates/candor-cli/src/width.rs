//! The width of text on a terminal: East Asian letters and most emoji take two columns.

use candor::operator::shown::shown;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Returns the number of columns of a text that is safe to show.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// Makes a text safe to show and truncates it to at most `most` columns.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let shown = shown(text).to_string();
    if columns(&shown) <= most {
        return shown;
    }
    format!("{}…", fitting(&shown, most.saturating_sub(1)))
}

/// Makes a text safe to show and truncates it at the front, to at most `most` columns.
pub(crate) fn end(text: &str, most: usize) -> String {
    let shown = shown(text).to_string();
    if columns(&shown) <= most {
        return shown;
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= most
    };
    let reversed: String = shown.chars().rev().take_while(fits).collect();
    ['…'].into_iter().chain(reversed.chars().rev()).collect()
}

/// Returns the longest beginning of a text that fits into `most` columns.
pub(crate) fn fitting(text: &str, most: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > most
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// Splits a line into rows of at most `most` columns, on any terminal. Letters that some terminals show wider count as wide, and a
/// tab counts as spaces.
pub(crate) fn rows(line: &str, most: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    let mut used = 0;
    for c in line.replace('\t', "    ").chars() {
        let width = c.width_cjk().unwrap_or(0);
        if used + width > most && used > 0 {
            rows.push(String::new());
            used = 0;
        }
        used += width;
        if let Some(row) = rows.last_mut() {
            row.push(c);
        }
    }
    rows
}

/// Pads a text with spaces to `width` columns.
pub(crate) fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(columns("a漢字"), 5);
        assert_eq!(cut("漢字漢字", 8), "漢字漢字");
        assert_eq!(cut("漢字漢字", 7), "漢字漢…");
        assert_eq!(cut("漢字漢字", 6), "漢字…");
        assert_eq!(end("漢字漢字", 8), "漢字漢字");
        assert_eq!(end("漢字漢字", 6), "…漢字");
        assert_eq!(padded("漢", 4), "漢  ");
        assert_eq!(rows("a漢字b", 3), ["a漢", "字b"]);
        assert_eq!(rows("漢\tx…", 1), ["漢", " ", " ", " ", " ", "x", "…"]);
        assert_eq!(rows("", 3), [""]);
        assert_eq!(cut("\u{1b}\u{1b}", 7), r"\u{1b}…");
    }
}

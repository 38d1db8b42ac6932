//! The lines of a text that hold another one, each with as much of it as is worth showing.

/// How many characters are shown of a line, and how many of them come before what was looked for.
const SHOWN: usize = 240;
const BEFORE: usize = 80;

pub(crate) struct Needle {
    text: String,
    ignore_case: bool,
}

impl Needle {
    pub(crate) fn new(text: &str, ignore_case: bool) -> Self {
        let text = if ignore_case { text.to_lowercase() } else { text.to_owned() };
        Self { text, ignore_case }
    }

    /// The lines in which a match begins, from 1 on; each once.
    pub(crate) fn lines<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (u64, String)> + 'a {
        // Letters may become longer or shorter with their case, lines stay lines.
        let folded = self.ignore_case.then(|| text.to_lowercase());
        let mut original = text.split('\n');
        // In the text that is searched: where the current line begins.
        let (mut begin, mut number) = (0, 0_u64);
        std::iter::from_fn(move || {
            let searched = folded.as_deref().unwrap_or(text);
            let found = begin + searched.get(begin..)?.find(&self.text)?;
            // From the current line on to the one with the match.
            let passed = searched[begin..found].matches('\n').count();
            let line_begin = searched[..found].rfind('\n').map_or(0, |at| at + 1);
            let line = original.nth(passed)?;
            number += passed as u64 + 1;
            let column = searched[line_begin..found].chars().count();
            // The next match counts from the next line on; past the end if there is none.
            begin = searched[found..].find('\n').map_or(usize::MAX, |at| found + at + 1);
            Some((number, shown(line, column)))
        })
    }
}

fn shown(line: &str, column: usize) -> String {
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.chars().count() <= SHOWN {
        return line.to_owned();
    }
    let skipped = column.saturating_sub(BEFORE);
    let mut rest = line.chars().skip(skipped);
    let part: String = rest.by_ref().take(SHOWN).collect();
    let before = if skipped > 0 { "\u{2026}" } else { "" };
    let after = if rest.next().is_some() { "\u{2026}" } else { "" };
    format!("{before}{part}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, needle: &str, ignore_case: bool) -> Vec<(u64, String)> {
        Needle::new(needle, ignore_case).lines(text).collect()
    }

    #[test]
    fn each_line_counts_once() {
        let text = "one two one\r\nthree\n\nONE\none";
        let found = lines(text, "one", false);
        assert_eq!(found, [(1, "one two one".to_owned()), (5, "one".to_owned())]);
        let numbers: Vec<u64> = lines(text, "One", true).into_iter().map(|(n, _)| n).collect();
        assert_eq!(numbers, [1, 4, 5]);
        assert_eq!(lines(text, "three\n\nONE", false), [(2, "three".to_owned())]);
        assert!(lines(text, "four", false).is_empty());
        assert_eq!(lines("", "", false).len(), 1);
    }

    #[test]
    fn a_long_line_is_cut_around_the_match() {
        let text = format!("{}needle{}", "\u{fc}".repeat(1000), "b".repeat(1000));
        let (line, excerpt) = lines(&text, "NEEDLE", true).remove(0);
        assert_eq!(line, 1);
        assert!(excerpt.contains("needle") && excerpt.chars().count() == SHOWN + 2);
        assert!(excerpt.starts_with('\u{2026}') && excerpt.ends_with('\u{2026}'));
    }

    #[test]
    fn letters_that_change_their_length_do_not_confuse() {
        let text = "\u{130}\u{130}\u{130}\n\u{130}x\nend";
        assert_eq!(lines(text, "X", true), [(2, "\u{130}x".to_owned())]);
        assert_eq!(lines(text, "END", true), [(3, "end".to_owned())]);
    }
}

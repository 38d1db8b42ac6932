//! The lines of a text that contain another text, each with an excerpt.

/// Maximum length of an excerpt in characters, and how many of them come before the match.
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

    /// Returns the lines in which a match begins, numbered from 1; each once.
    pub(crate) fn lines<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (u64, String)> + 'a {
        // A change of case may change the length of letters, but not the lines.
        let folded = self.ignore_case.then(|| text.to_lowercase());
        let mut original = text.split('\n');
        // Where the current line begins, in the searched text.
        let (mut begin, mut number) = (0, 0_u64);
        std::iter::from_fn(move || {
            let searched = folded.as_deref().unwrap_or(text);
            let found = begin + searched.get(begin..)?.find(&self.text)?;
            // Lines between the current one and the one with the match.
            let passed = searched[begin..found].matches('\n').count();
            let line_begin = searched[..found].rfind('\n').map_or(0, |at| at + 1);
            let line = original.nth(passed)?;
            number += passed as u64 + 1;
            let column = searched[line_begin..found].chars().count();
            // The next match counts from the next line on; past the end if there is no next line.
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
    fn line_with_several_matches_counts_once() {
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
    fn long_line_is_cut_around_the_match() {
        let text = format!("{}needle{}", "\u{fc}".repeat(1000), "b".repeat(1000));
        let (line, excerpt) = lines(&text, "NEEDLE", true).remove(0);
        assert_eq!(line, 1);
        assert!(excerpt.contains("needle") && excerpt.chars().count() == SHOWN + 2);
        assert!(excerpt.starts_with('\u{2026}') && excerpt.ends_with('\u{2026}'));
    }

    #[test]
    fn case_folding_that_changes_length_keeps_the_line() {
        let text = "\u{130}\u{130}\u{130}\n\u{130}x\nend";
        assert_eq!(lines(text, "X", true), [(2, "\u{130}x".to_owned())]);
        assert_eq!(lines(text, "END", true), [(3, "end".to_owned())]);
    }
}

//! Words as a shell takes them, and as hosts do.

/// One word, in quotes where it needs them.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A name that hosts take: letters, digits, hyphens and underscores.
pub(crate) fn word(name: &str) -> String {
    let word: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let parts: Vec<_> = word.split('-').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { "files".to_owned() } else { parts.join("-") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_what_was_meant() {
        assert_eq!(quoted("/home/ann/notes"), "/home/ann/notes");
        assert_eq!(quoted("my notes"), "'my notes'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn a_host_takes_the_name() {
        assert_eq!(word("notes_2026"), "notes_2026");
        assert_eq!(word("Ann's  old notes.d"), "Ann-s-old-notes-d");
        assert_eq!(word("ü"), "files");
    }
}

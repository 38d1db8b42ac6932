//! When a person is asked, by what a call would do.

use crate::hints::Hints;

/// Which calls a person is asked about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AskLevel {
    /// None: whoever uses the server decides for themselves.
    #[default]
    Never,
    /// Those that may change or delete what is there.
    Destructive,
    /// Those that may change anything.
    Writes,
    /// All.
    Always,
}

impl AskLevel {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Destructive => "destructive",
            Self::Writes => "writes",
            Self::Always => "always",
        }
    }

    /// Whether a call that does this is asked about.
    #[must_use]
    pub const fn covers(self, hints: Hints) -> bool {
        match self {
            Self::Never => false,
            Self::Destructive => hints.is_destructive(),
            Self::Writes => !hints.is_read_only(),
            Self::Always => true,
        }
    }
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It may start.
    Allow,
    /// A person is asked first.
    Ask,
    /// It may not start.
    Deny,
}

impl Verdict {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// The one that has this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Allow, Self::Ask, Self::Deny].into_iter().find(|one| one.as_str() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_covers_what_the_one_before_does() {
        let kinds = [Hints::READS, Hints::ADDS, Hints::CHANGES, Hints::DELETES];
        let asked = |ask: AskLevel| kinds.map(|hints| ask.covers(hints));
        assert_eq!(asked(AskLevel::Never), [false, false, false, false]);
        assert_eq!(asked(AskLevel::Destructive), [false, false, true, true]);
        assert_eq!(asked(AskLevel::Writes), [false, true, true, true]);
        assert_eq!(asked(AskLevel::Always), [true, true, true, true]);
    }

    #[test]
    fn a_judgement_is_read_as_it_is_written() {
        for judgement in [Verdict::Allow, Verdict::Ask, Verdict::Deny] {
            assert_eq!(Verdict::of_word(judgement.as_str()), Some(judgement));
        }
        for other in ["", "Allow", "none", "ask "] {
            assert_eq!(Verdict::of_word(other), None, "{other:?}");
        }
    }
}

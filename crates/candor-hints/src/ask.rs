//! Which calls need approval, by their effect.

use crate::hints::Hints;

/// Which calls need approval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AskLevel {
    /// None: callers decide on their own.
    #[default]
    Never,
    /// Calls that may change or delete existing data.
    Destructive,
    /// Calls that may change anything.
    Writes,
    /// All calls.
    Always,
}

impl AskLevel {
    /// Returns the word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Destructive => "destructive",
            Self::Writes => "writes",
            Self::Always => "always",
        }
    }

    /// Returns true if a call with these hints needs approval.
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

/// What the policy says about a call. The stricter verdict is the greater one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// The call may start.
    Allow,
    /// The call needs approval first.
    Ask,
    /// The call may not start.
    Deny,
}

impl Verdict {
    /// Returns the word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// Returns the verdict of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Allow, Self::Ask, Self::Deny].into_iter().find(|one| one.as_str() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ask_level_covers_the_one_before() {
        let kinds = [Hints::READS, Hints::ADDS, Hints::CHANGES, Hints::DELETES];
        let asked = |ask: AskLevel| kinds.map(|hints| ask.covers(hints));
        assert_eq!(asked(AskLevel::Never), [false, false, false, false]);
        assert_eq!(asked(AskLevel::Destructive), [false, false, true, true]);
        assert_eq!(asked(AskLevel::Writes), [false, true, true, true]);
        assert_eq!(asked(AskLevel::Always), [true, true, true, true]);
    }

    #[test]
    fn verdict_parses_as_written() {
        for judgement in [Verdict::Allow, Verdict::Ask, Verdict::Deny] {
            assert_eq!(Verdict::of_word(judgement.as_str()), Some(judgement));
        }
        for other in ["", "Allow", "none", "ask "] {
            assert_eq!(Verdict::of_word(other), None, "{other:?}");
        }
    }
}

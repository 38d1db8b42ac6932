//! Hints in a word, for people.

use std::fmt;

use crate::hints::Hints;

/// What people read instead of four booleans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Changes nothing.
    Reads,
    /// Leaves what is there, and more of it each time.
    Adds,
    /// Leaves what is there, and comes to the same each time.
    Changes,
    /// May take something away.
    Deletes,
}

impl Hints {
    /// The word for it.
    #[must_use]
    pub const fn verdict(self) -> Verdict {
        match (self.is_read_only(), self.is_destructive(), self.is_idempotent()) {
            (true, ..) => Verdict::Reads,
            (_, true, _) => Verdict::Deletes,
            (_, _, true) => Verdict::Changes,
            (_, _, false) => Verdict::Adds,
        }
    }

    /// A line of words: `DELETES · repeatable · stays local`.
    #[must_use]
    pub fn in_words(self) -> String {
        let verdict = match self.verdict() {
            // Nobody should miss it.
            Verdict::Deletes => "DELETES".to_owned(),
            other => other.to_string().to_lowercase(),
        };
        let again = if self.is_idempotent() { "repeatable" } else { "not repeatable" };
        let world = if self.is_open_world() { "reaches outside" } else { "stays local" };
        format!("{verdict} · {again} · {world}")
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reads => "Reads",
            Self::Adds => "Adds",
            Self::Changes => "Changes",
            Self::Deletes => "Deletes",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_console_and_the_command_line() {
        assert_eq!(Hints::READS.closed_world().in_words(), "reads · repeatable · stays local");
        assert_eq!(Hints::ADDS.in_words(), "adds · not repeatable · reaches outside");
        assert_eq!(
            Hints::DELETES.repeatable().closed_world().in_words(),
            "DELETES · repeatable · stays local"
        );
        assert_eq!(Hints::ADDS.repeatable().verdict(), Verdict::Changes);
    }
}

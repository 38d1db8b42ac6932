//! Hints in a word, for people.

use std::fmt;

use crate::declared::{Effective, Source};
use crate::hints::Hints;
use crate::pointer::Pointer;
use crate::table::Table;
use crate::test::Test;

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

impl Verdict {
    /// All of them, the least first.
    pub const ALL: [Self; 4] = [Self::Reads, Self::Adds, Self::Changes, Self::Deletes];

    /// The word for it, for programs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Adds => "adds",
            Self::Changes => "changes",
            Self::Deletes => "deletes",
        }
    }

    /// Reads what [`Hints::in_words`] has written: the verdict, and what the line says besides. `None` for other words.
    ///
    /// ```
    /// use candor_hints::{Hints, Verdict};
    ///
    /// let words = Hints::DELETES.repeatable().closed_world().in_words();
    /// let besides = "repeatable · stays local";
    /// assert_eq!(Verdict::of_words(&words), Some((Verdict::Deletes, besides)));
    /// ```
    #[must_use]
    pub fn of_words(words: &str) -> Option<(Self, &str)> {
        let (word, besides) = words.split_once(BETWEEN)?;
        let verdict = Self::ALL.into_iter().find(|verdict| verdict.in_a_line() == word)?;
        Some((verdict, besides))
    }

    fn in_a_line(self) -> &'static str {
        match self {
            // Nobody should miss it.
            Self::Deletes => "DELETES",
            other => other.as_str(),
        }
    }
}

/// What parts the words of a line.
const BETWEEN: &str = " · ";

/// The words for a tool that does not declare its effect.
pub const UNCLASSIFIED: &str = "Unclassified (treated as the worst case)";

impl Effective {
    /// Returns true if nothing says whether a call reads or deletes: the hints are only what must be assumed.
    #[must_use]
    pub fn is_unclassified(&self) -> bool {
        let [read_only, destructive, ..] = self.sources;
        read_only == Source::Default && destructive == Source::Default
    }

    /// Returns the line of [`Hints::in_words`], or [`UNCLASSIFIED`] and what is declared besides.
    ///
    /// An assumption must not read like the tool's own declaration.
    #[must_use]
    pub fn in_words(&self) -> String {
        if !self.is_unclassified() {
            return self.hints.in_words();
        }
        let [_, _, idempotent, open_world] = self.sources;
        let mut words = vec![UNCLASSIFIED];
        words.extend((idempotent != Source::Default).then(|| self.hints.again()));
        words.extend((open_world != Source::Default).then(|| self.hints.world()));
        words.join(BETWEEN)
    }
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

    /// A line of words: `DELETES · repeatable · stays local`. [`Verdict::of_words`] reads it.
    #[must_use]
    pub fn in_words(self) -> String {
        [self.verdict().in_a_line(), self.again(), self.world()].join(BETWEEN)
    }

    const fn again(self) -> &'static str {
        if self.is_idempotent() { "repeatable" } else { "not repeatable" }
    }

    const fn world(self) -> &'static str {
        if self.is_open_world() { "reaches outside" } else { "stays local" }
    }
}

/// With a capital letter, for people.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, rest) = self.as_str().split_at(1);
        write!(f, "{}{rest}", first.to_ascii_uppercase())
    }
}

impl Table {
    /// What the rows say, a line each, for people: `action is "read": reads · repeatable · stays local`.
    #[must_use]
    pub fn in_words(&self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .rows()
            .iter()
            .map(|row| {
                let tests: Vec<String> =
                    row.tests().iter().map(|(at, test)| words_of(at, test)).collect();
                let when =
                    if tests.is_empty() { "otherwise".to_owned() } else { tests.join(" and ") };
                format!("{when}: {}", self.in_world(row.hints()).in_words())
            })
            .collect();
        if !self.is_exhaustive() {
            lines.push(format!("otherwise: {}", self.unknown().in_words()));
        }
        lines
    }
}

fn words_of(at: &Pointer, test: &Test) -> String {
    let name = at.as_str().trim_start_matches('/').replace('/', ".");
    match test {
        Test::OneOf(values) => {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            format!("{name} is {}", values.join(" or "))
        }
        Test::Below(place) => format!("{name} is at or below {place}"),
        Test::Glob(pattern) => format!("{name} is like {pattern}"),
        Test::Range(Some(from), Some(to)) => format!("{name} is from {from} to {to}"),
        Test::Range(Some(from), None) => format!("{name} is at least {from}"),
        Test::Range(None, Some(to)) => format!("{name} is at most {to}"),
        Test::Range(None, None) => format!("{name} is a number"),
        Test::Present => format!("{name} is given"),
        Test::Absent => format!("{name} is left out"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declared::Declared;
    use crate::table::Row;

    #[test]
    fn assumption_does_not_read_like_a_declaration() {
        let words = |declared: Declared| declared.effective().in_words();
        assert_eq!(words(Declared::default()), UNCLASSIFIED);
        let local = Declared { open_world: Some(false), ..Declared::default() };
        assert_eq!(words(local), format!("{UNCLASSIFIED} · stays local"));
        let writes = Declared { read_only: Some(false), ..Declared::default() };
        assert_eq!(words(writes), "DELETES · not repeatable · reaches outside");
    }

    #[test]
    fn the_words_are_those_of_the_console_and_the_command_line() {
        assert_eq!(Hints::READS.closed_world().in_words(), "reads · repeatable · stays local");
        assert_eq!(Hints::ADDS.in_words(), "adds · not repeatable · reaches outside");
        assert_eq!(
            Hints::DELETES.repeatable().closed_world().in_words(),
            "DELETES · repeatable · stays local"
        );
        assert_eq!(Hints::ADDS.repeatable().verdict(), Verdict::Changes);
        assert_eq!(Verdict::ALL.map(|it| it.to_string()), ["Reads", "Adds", "Changes", "Deletes"]);
    }

    #[test]
    fn what_is_written_of_any_hints_is_read_again() {
        for bits in 0..16 {
            let is = |bit: u8| bits & (1 << bit) != 0;
            let hints = Hints::new(is(0), is(1), is(2), is(3));
            let words = hints.in_words();
            let (verdict, besides) = Verdict::of_words(&words).unwrap();
            assert_eq!(verdict, hints.verdict(), "{words}");
            assert_eq!(besides.starts_with("repeatable"), hints.is_idempotent(), "{words}");
            assert_eq!(besides.ends_with("reaches outside"), hints.is_open_world(), "{words}");
        }
        for other in ["", "reads", "READS · repeatable", "deletes · repeatable", "may do anything"]
        {
            assert_eq!(Verdict::of_words(other), None, "{other}");
        }
    }

    #[test]
    fn a_table_reads_like_a_list_of_cases() {
        let table = Table::new()
            .row(Row::when("/request/method", Test::equals("GET")).then(Hints::READS))
            .row(
                Row::when("/request/method", Test::OneOf(vec!["POST".into(), "PUT".into()]))
                    .and("path", Test::Glob("/repos/*/*".into()))
                    .then(Hints::ADDS),
            )
            .row(Row::when("size", Test::Range(None, Some(10.0))).then(Hints::ADDS.repeatable()));
        assert_eq!(
            table.in_words(),
            [
                r#"request.method is "GET": reads · repeatable · reaches outside"#,
                r#"request.method is "POST" or "PUT" and path is like /repos/*/*: adds · not repeatable · reaches outside"#,
                "size is at most 10: changes · repeatable · reaches outside",
                "otherwise: DELETES · not repeatable · reaches outside",
            ]
        );
        let closed = Table::new().row(Row::otherwise(Hints::READS)).closed_world().exhaustive();
        assert_eq!(closed.in_words(), ["otherwise: reads · repeatable · stays local"]);
    }
}

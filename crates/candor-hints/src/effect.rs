//! What a call does to existing data, and the words for it.

use std::fmt;

use crate::declared::{EffectiveHints, HintSource};
use crate::hints::Hints;
use crate::pointer::Pointer;
use crate::table::{EffectRow, EffectTable};
use crate::test::Condition;

/// What a call does to existing data, as its author declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Changes nothing.
    Reads,
    /// Only adds: existing data stays as it is.
    Adds,
    /// Changes existing data.
    Changes,
    /// Deletes existing data, or makes it unusable.
    Deletes,
    /// Changes or deletes: the protocol's hints alone do not tell which.
    ChangesOrDeletes,
}

impl Effect {
    /// All effects, the least risky first.
    pub const ALL: [Self; 5] =
        [Self::Reads, Self::Adds, Self::Changes, Self::Deletes, Self::ChangesOrDeletes];

    /// Returns the effect that the protocol's hints imply.
    #[must_use]
    pub const fn from_hints(read_only: bool, destructive: bool) -> Self {
        match (read_only, destructive) {
            (true, _) => Self::Reads,
            (false, true) => Self::ChangesOrDeletes,
            (false, false) => Self::Adds,
        }
    }

    /// Returns the word for it, for programs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Adds => "adds",
            Self::Changes => "changes",
            Self::Deletes => "deletes",
            Self::ChangesOrDeletes => "changes_or_deletes",
        }
    }

    /// Returns the effect of this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effect| effect.as_str() == word)
    }

    /// Returns true if the call is destructive in the protocol's sense.
    #[must_use]
    pub const fn is_destructive(self) -> bool {
        matches!(self, Self::Changes | Self::Deletes | Self::ChangesOrDeletes)
    }

    /// Returns the least effect that is as risky as either.
    #[must_use]
    pub const fn join(self, other: Self) -> Self {
        if (self as u8) < (other as u8) { other } else { self }
    }

    /// Returns true if this is not riskier than the other. An effect that may change or delete is as risky as one that deletes.
    #[must_use]
    pub const fn is_at_most(self, bound: Self) -> bool {
        self.risk() <= bound.risk()
    }

    const fn risk(self) -> u8 {
        match self {
            Self::Reads => 0,
            Self::Adds => 1,
            Self::Changes => 2,
            Self::Deletes | Self::ChangesOrDeletes => 3,
        }
    }

    /// Returns the effect of hints, refined by the one declared beside them. A declared effect makes destructive hints
    /// exact, and never makes a call safer than its hints.
    #[must_use]
    pub(crate) const fn refined_by(self, declared: Option<Self>) -> Self {
        match (self, declared) {
            (hints, None) => hints,
            (Self::ChangesOrDeletes, Some(declared)) if declared.is_destructive() => declared,
            (hints, Some(declared)) => hints.join(declared),
        }
    }

    /// Returns the label of a worst case, for lists: a call may do less.
    #[must_use]
    pub const fn worst_case(self) -> &'static str {
        match self {
            Self::Reads => "Reads",
            Self::Adds => "May add",
            Self::Changes => "May change",
            Self::Deletes => "May delete",
            Self::ChangesOrDeletes => "May change or delete",
        }
    }

    /// Returns the label for users.
    const fn label(self) -> &'static str {
        match self {
            Self::Reads => "Reads",
            Self::Adds => "Adds",
            Self::Changes => "Changes",
            Self::Deletes => "Deletes",
            Self::ChangesOrDeletes => self.worst_case(),
        }
    }
}

/// The separator of the parts of a line.
const BETWEEN: &str = " · ";

/// The label of a tool that declares nothing. The policy treats it as the worst case.
pub const UNCLASSIFIED: &str = "Unclassified";

impl EffectiveHints {
    /// Returns true if nothing is declared, so that the hints are only an assumption.
    #[must_use]
    pub fn is_unclassified(&self) -> bool {
        self.sources == [HintSource::Default; 4] && self.hints == Hints::WORST
    }

    /// Returns the line of [`Hints::summary`], or [`UNCLASSIFIED`].
    ///
    /// An assumption must not read like the tool's own declaration.
    #[must_use]
    pub fn summary(&self) -> String {
        if self.is_unclassified() { UNCLASSIFIED.to_owned() } else { self.hints.summary() }
    }
}

impl Hints {
    /// Returns a line of words for users: `Deletes · safe to retry · local`. Nothing reads it back.
    #[must_use]
    pub fn summary(self) -> String {
        [self.effect().label(), self.retry(), self.reach()].join(BETWEEN)
    }

    /// Returns whether a call is safe to retry, in words.
    #[must_use]
    pub const fn retry(self) -> &'static str {
        if self.is_idempotent() { "safe to retry" } else { "not safe to retry" }
    }

    /// Returns whether a call touches external systems, in words.
    #[must_use]
    pub const fn reach(self) -> &'static str {
        if self.is_open_world() { "external" } else { "local" }
    }
}

/// Writes the label for users.
impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

impl EffectTable {
    /// Returns the rows in words for users, one line each: `action is "read": Reads · safe to retry · local`.
    #[must_use]
    pub fn summary(&self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .rows()
            .iter()
            .map(|row| format!("{}: {}", row.condition(), self.in_world(row.hints()).summary()))
            .collect();
        if !self.is_exhaustive() {
            lines.push(format!("otherwise: {}", self.unknown().summary()));
        }
        lines
    }
}

impl EffectRow {
    /// Returns the condition of the row in words for users: `action is "read" and path is at or below /public`.
    #[must_use]
    pub fn condition(&self) -> String {
        let tests: Vec<String> = self.tests().iter().map(|(at, test)| test.describe(at)).collect();
        if tests.is_empty() { "otherwise".to_owned() } else { tests.join(" and ") }
    }
}

impl Condition {
    /// Returns the test of this argument in words for users: `action is "read"`.
    #[must_use]
    pub fn describe(&self, at: &Pointer) -> String {
        let name = at.as_str().trim_start_matches('/').replace('/', ".");
        match self {
            Condition::OneOf(values) => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                format!("{name} is {}", values.join(" or "))
            }
            Condition::Below(place) => format!("{name} is at or below {place}"),
            Condition::Glob(pattern) => format!("{name} is like {pattern}"),
            Condition::Range(Some(from), Some(to)) => format!("{name} is from {from} to {to}"),
            Condition::Range(Some(from), None) => format!("{name} is at least {from}"),
            Condition::Range(None, Some(to)) => format!("{name} is at most {to}"),
            Condition::Range(None, None) => format!("{name} is a number"),
            Condition::Present => format!("{name} is given"),
            Condition::Absent => format!("{name} is left out"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declared::DeclaredHints;
    use crate::table::EffectRow;

    #[test]
    fn assumed_effect_does_not_read_like_a_declared_one() {
        let words = |declared: DeclaredHints| declared.effective().summary();
        assert_eq!(words(DeclaredHints::default()), UNCLASSIFIED);
        let local = DeclaredHints { open_world: Some(false), ..DeclaredHints::default() };
        assert_eq!(words(local), "May change or delete · not safe to retry · local");
        let again = DeclaredHints { idempotent: Some(true), ..DeclaredHints::default() };
        assert_eq!(words(again), "May change or delete · safe to retry · external");
        let writes = DeclaredHints { read_only: Some(false), ..DeclaredHints::default() };
        assert_eq!(words(writes), "May change or delete · not safe to retry · external");
        let deletes = DeclaredHints { effect: Some(Effect::Deletes), ..DeclaredHints::default() };
        assert_eq!(words(deletes), "Deletes · not safe to retry · external");
    }

    #[test]
    fn summary_uses_the_words_of_the_console_and_the_cli() {
        assert_eq!(Hints::READS.closed_world().summary(), "Reads · safe to retry · local");
        assert_eq!(Hints::ADDS.summary(), "Adds · not safe to retry · external");
        assert_eq!(
            Hints::DELETES.idempotent().closed_world().summary(),
            "Deletes · safe to retry · local"
        );
        assert_eq!(Hints::CHANGES.closed_world().summary(), "Changes · not safe to retry · local");
        assert_eq!(
            Hints::new(false, true, true, true).summary(),
            "May change or delete · safe to retry · external"
        );
        assert_eq!(
            Effect::ALL.map(|effect| effect.to_string()),
            ["Reads", "Adds", "Changes", "Deletes", "May change or delete"]
        );
    }

    #[test]
    fn effect_is_read_from_its_word_alone() {
        for effect in Effect::ALL {
            assert_eq!(Effect::from_word(effect.as_str()), Some(effect));
            assert_eq!(Effect::from_word(&effect.to_string()), None);
        }
    }

    #[test]
    fn effect_table_is_shown_as_a_list_of_cases() {
        let table = EffectTable::new()
            .row(EffectRow::when("/request/method", Condition::equals("GET")).then(Hints::READS))
            .row(
                EffectRow::when(
                    "/request/method",
                    Condition::OneOf(vec!["POST".into(), "PUT".into()]),
                )
                .and("path", Condition::Glob("/repos/*/*".into()))
                .then(Hints::ADDS),
            )
            .row(
                EffectRow::when("size", Condition::Range(None, Some(10.0)))
                    .then(Hints::CHANGES.idempotent()),
            );
        assert_eq!(
            table.summary(),
            [
                r#"request.method is "GET": Reads · safe to retry · external"#,
                r#"request.method is "POST" or "PUT" and path is like /repos/*/*: Adds · not safe to retry · external"#,
                "size is at most 10: Changes · safe to retry · external",
                "otherwise: May change or delete · not safe to retry · external",
            ]
        );
        let closed =
            EffectTable::new().row(EffectRow::otherwise(Hints::READS)).closed_world().exhaustive();
        assert_eq!(closed.summary(), ["otherwise: Reads · safe to retry · local"]);
    }
}

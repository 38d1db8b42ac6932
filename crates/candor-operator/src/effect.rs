//! The effect of a call, in the forms that the ledger stores. Nothing reads an effect from words.

use std::borrow::Cow;

use candor_hints::{DeclaredHints, Effect, EffectiveHints, Hints};
use candor_ledger::AuditRow;

/// The name of the effect if the tool declares nothing.
pub(crate) const UNCLASSIFIED: &str = "unclassified";

const IDEMPOTENT: [&str; 2] = ["not_idempotent", "idempotent"];
const REACH: [&str; 2] = ["closed_world", "open_world"];

/// The effect of a call in an audit row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedEffect {
    /// The effect.
    Known(EffectiveHints),
    /// The words of an earlier version, for users to read.
    Words(String),
}

impl RecordedEffect {
    /// Returns the effect as audit rows store it: `deletes not_idempotent closed_world`.
    #[must_use]
    pub fn stored(effect: EffectiveHints) -> String {
        let hints = effect.hints;
        if effect.is_unclassified() {
            return UNCLASSIFIED.to_owned();
        }
        let retry = IDEMPOTENT[usize::from(hints.is_idempotent())];
        let reach = REACH[usize::from(hints.is_open_world())];
        format!("{} {retry} {reach}", hints.effect().as_str())
    }

    /// Reads the effect that an audit row stores.
    #[must_use]
    pub fn read(stored: &str) -> Self {
        read(stored).map_or_else(|| Self::Words(stored.to_owned()), Self::Known)
    }

    /// Returns the effect of an audit row, if the row has one.
    #[must_use]
    pub fn of_row(row: &AuditRow) -> Option<Self> {
        row.circumstances.hints.as_deref().map(Self::read)
    }

    /// Returns the effect in words for users.
    #[must_use]
    pub fn summary(&self) -> Cow<'_, str> {
        match self {
            Self::Known(effect) => effect.summary().into(),
            Self::Words(words) => words.into(),
        }
    }
}

fn read(stored: &str) -> Option<EffectiveHints> {
    if stored == UNCLASSIFIED {
        return Some(DeclaredHints::default().effective());
    }
    let mut parts = stored.split(' ');
    let effect = Effect::from_word(parts.next()?)?;
    let mut is_second = |words: [&str; 2]| {
        let part = parts.next()?;
        words.iter().position(|word| *word == part).map(|at| at == 1)
    };
    let (idempotent, open_world) = (is_second(IDEMPOTENT)?, is_second(REACH)?);
    let declared = Hints::from_effect(effect).declared();
    let hints =
        DeclaredHints { idempotent: Some(idempotent), open_world: Some(open_world), ..declared };
    parts.next().is_none().then(|| hints.effective())
}

/// Returns the name of an effect, for programs.
pub(crate) fn effect_name(effect: EffectiveHints) -> &'static str {
    if effect.is_unclassified() { UNCLASSIFIED } else { effect.hints.effect().as_str() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_effect_is_read_as_it_was_written() {
        for effect in Effect::ALL {
            let riskiest = Hints::from_effect(effect);
            for hints in [riskiest, riskiest.idempotent(), riskiest.idempotent().closed_world()] {
                let effect = hints.declared().effective();
                let stored = RecordedEffect::stored(effect);
                assert_eq!(
                    RecordedEffect::read(&stored),
                    RecordedEffect::Known(effect),
                    "{stored}"
                );
            }
        }
        let unclassified = DeclaredHints::default().effective();
        let stored = RecordedEffect::stored(unclassified);
        assert_eq!(RecordedEffect::read(&stored), RecordedEffect::Known(unclassified));
        let deletes = Hints::DELETES.closed_world().declared().effective();
        assert_eq!(RecordedEffect::stored(deletes), "deletes not_idempotent closed_world");
    }

    #[test]
    fn words_of_earlier_versions_stay_words() {
        for words in [
            "",
            "Deletes · safe to retry · local",
            "reads · repeatable · stays local",
            "reads",
            "reads idempotent",
            "reads idempotent local",
            "reads idempotent closed_world later",
        ] {
            let read = RecordedEffect::read(words);
            assert_eq!(read, RecordedEffect::Words(words.to_owned()));
            assert_eq!(read.summary(), words);
        }
    }
}

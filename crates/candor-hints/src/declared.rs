//! Declared hints, and what they mean.

use crate::effect::Effect;
use crate::hints::Hints;

/// Hints as declared. Each may be missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeclaredHints {
    /// The call changes nothing.
    pub read_only: Option<bool>,
    /// The call may change or delete existing data.
    pub destructive: Option<bool>,
    /// A second call has no further effect.
    pub idempotent: Option<bool>,
    /// The call may touch systems outside the server.
    pub open_world: Option<bool>,
    /// The effect, beside the hints: it tells changes from deletions, which hints cannot.
    pub effect: Option<Effect>,
}

/// What a declaration means: the hints, and where each comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EffectiveHints {
    /// The hints.
    pub hints: Hints,
    /// Where they come from: read-only, destructive, idempotent, open world.
    pub sources: [HintSource; 4],
}

/// Where a hint comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HintSource {
    /// Declared, for every call of the tool.
    Declared,
    /// Not declared, so the protocol's default applies: the risky one.
    Default,
    /// Evaluated for these arguments.
    Resolved,
}

impl HintSource {
    /// Returns the word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Default => "default",
            Self::Resolved => "resolved",
        }
    }
}

impl DeclaredHints {
    /// Returns what the declaration means. This is the only way to read it: the protocol's defaults fill the gaps, and a tool that
    /// declares itself both read-only and destructive counts as the worst case. An effect that is milder than the hints is ignored.
    #[must_use]
    pub fn effective(&self) -> EffectiveHints {
        let source = |said: Option<bool>| match said {
            Some(_) => HintSource::Declared,
            None => HintSource::Default,
        };
        let read_only = self.read_only.unwrap_or(false);
        let hints = if read_only && self.destructive == Some(true) {
            Hints::WORST
        } else {
            let by_hints = Effect::from_hints(read_only, self.destructive.unwrap_or(true));
            let mut hints = Hints::from_effect(by_hints.refined_by(self.effect));
            if self.idempotent == Some(true) {
                hints = hints.idempotent();
            }
            if self.open_world == Some(false) { hints.closed_world() } else { hints }
        };
        let said = [self.read_only, self.destructive, self.idempotent, self.open_world];
        EffectiveHints { hints, sources: said.map(source) }
    }
}

impl EffectiveHints {
    /// Creates hints that were evaluated for certain arguments.
    #[must_use]
    pub const fn resolved(hints: Hints) -> Self {
        Self { hints, sources: [HintSource::Resolved; 4] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hints::tests::any_hints;
    use proptest::prelude::*;

    #[test]
    fn missing_hints_count_as_the_worst_case() {
        assert_eq!(DeclaredHints::default().effective().hints, Hints::WORST);
        let reads = DeclaredHints { read_only: Some(true), ..DeclaredHints::default() };
        assert_eq!(reads.effective().hints, Hints::READS);
        assert_eq!(
            reads.effective().sources,
            [HintSource::Declared, HintSource::Default, HintSource::Default, HintSource::Default]
        );
    }

    #[test]
    fn contradictory_hints_are_the_worst_case() {
        let both = DeclaredHints {
            read_only: Some(true),
            destructive: Some(true),
            ..DeclaredHints::default()
        };
        assert_eq!(both.effective().hints, Hints::WORST);
    }

    #[test]
    fn declared_effect_never_makes_a_call_safer_than_its_hints() {
        let effect = |hints: Hints, effect: Effect| {
            let declared = DeclaredHints { effect: Some(effect), ..hints.declared() };
            declared.effective().hints
        };
        let destructive = Hints::new(false, true, true, false);
        assert_eq!(
            effect(destructive, Effect::Changes),
            Hints::CHANGES.idempotent().closed_world()
        );
        assert_eq!(
            effect(destructive, Effect::Deletes),
            Hints::DELETES.idempotent().closed_world()
        );
        for milder in [Effect::Reads, Effect::Adds] {
            assert_eq!(effect(destructive, milder), destructive);
        }
        assert_eq!(effect(Hints::ADDS, Effect::Reads), Hints::ADDS);
        assert!(effect(Hints::READS, Effect::Deletes).is_destructive());
    }

    proptest! {
        #[test]
        fn declared_hints_survive_a_round_trip(hints in any_hints()) {
            prop_assert_eq!(hints.declared().effective().hints, hints);
        }

        #[test]
        fn omitting_hints_is_never_safer(hints in any_hints(), kept: [bool; 5]) {
            let all = hints.declared();
            let keep = |said: Option<bool>, kept: bool| said.filter(|_| kept);
            let some = DeclaredHints {
                read_only: keep(all.read_only, kept[0]),
                destructive: keep(all.destructive, kept[1]),
                idempotent: keep(all.idempotent, kept[2]),
                open_world: keep(all.open_world, kept[3]),
                effect: all.effect.filter(|_| kept[4]),
            };
            prop_assert!(hints.is_at_most(some.effective().hints));
        }
    }
}

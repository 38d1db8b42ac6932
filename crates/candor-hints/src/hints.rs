//! What a call may do, and its order of risk.

use std::fmt;

use crate::declared::DeclaredHints;
use crate::effect::Effect;

/// What a call may do, at worst: its effect, whether it is safe to retry, and whether it touches external systems.
///
/// The protocol's four hints follow from it: a call that reads is read-only, a call that changes or deletes is destructive.
/// Each part has a safe side and a risky one; hints are at most as risky as others if each part is.
///
/// ```
/// use candor_hints::Hints;
///
/// let append = Hints::ADDS.closed_world();
/// let replace = Hints::CHANGES.idempotent().closed_world();
/// assert!(Hints::READS.closed_world().is_at_most(append));
/// // Either of the two: it may change something, and a second call may have a further effect.
/// assert_eq!(append.join(replace), Hints::CHANGES.closed_world());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hints {
    effect: Effect,
    idempotent: bool,
    open_world: bool,
}

impl Hints {
    /// Nothing is known: it may change or delete anything, again with every call, and reach external systems.
    pub const WORST: Self = Self::from_effect(Effect::ChangesOrDeletes);

    /// Changes nothing, here or anywhere; it may read from external systems.
    pub const READS: Self = Self::from_effect(Effect::Reads);

    /// Adds something each time, and leaves existing data as it is.
    pub const ADDS: Self = Self::from_effect(Effect::Adds);

    /// Changes existing data.
    pub const CHANGES: Self = Self::from_effect(Effect::Changes);

    /// Deletes existing data, or makes it unusable.
    pub const DELETES: Self = Self::from_effect(Effect::Deletes);

    /// Returns the riskiest hints of this effect: not safe to retry unless it reads, and external.
    #[must_use]
    pub const fn from_effect(effect: Effect) -> Self {
        Self { effect, idempotent: matches!(effect, Effect::Reads), open_world: true }
    }

    /// Returns the hints of the protocol's four booleans. They do not tell changes from deletions. A read-only call is not
    /// destructive, whatever else is declared.
    #[must_use]
    pub const fn new(
        read_only: bool,
        destructive: bool,
        idempotent: bool,
        open_world: bool,
    ) -> Self {
        let effect = Effect::from_hints(read_only, destructive);
        Self { effect, idempotent: idempotent || read_only, open_world }
    }

    /// Returns the effect of the call.
    #[must_use]
    pub const fn effect(self) -> Effect {
        self.effect
    }

    /// Marks the call as safe to retry: a second call with the same arguments has no further effect.
    #[must_use]
    pub const fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// Marks the call as local: it touches no systems outside the server.
    #[must_use]
    pub const fn closed_world(mut self) -> Self {
        self.open_world = false;
        self
    }

    /// Returns true if the call changes nothing.
    #[must_use]
    pub const fn is_read_only(self) -> bool {
        matches!(self.effect, Effect::Reads)
    }

    /// Returns true if the call may change or delete existing data.
    #[must_use]
    pub const fn is_destructive(self) -> bool {
        self.effect.is_destructive()
    }

    /// Returns true if a second call with the same arguments has no further effect.
    #[must_use]
    pub const fn is_idempotent(self) -> bool {
        self.idempotent
    }

    /// Returns true if the call may touch systems outside the server.
    #[must_use]
    pub const fn is_open_world(self) -> bool {
        self.open_world
    }

    /// Returns the least hints that are as risky as either.
    #[must_use]
    pub const fn join(self, other: Self) -> Self {
        Self {
            effect: self.effect.join(other.effect),
            idempotent: self.idempotent && other.idempotent,
            open_world: self.open_world || other.open_world,
        }
    }

    /// Returns true if no part is riskier than the other's.
    #[must_use]
    pub const fn is_at_most(self, bound: Self) -> bool {
        self.effect.is_at_most(bound.effect)
            && (self.idempotent || !bound.idempotent)
            && (!self.open_world || bound.open_world)
    }

    /// Returns these hints as a complete declaration.
    #[must_use]
    pub const fn declared(self) -> DeclaredHints {
        DeclaredHints {
            read_only: Some(self.is_read_only()),
            destructive: Some(self.is_destructive()),
            idempotent: Some(self.idempotent),
            open_world: Some(self.open_world),
            effect: Some(self.effect),
        }
    }
}

impl Default for Hints {
    /// The worst case: a missing hint is never the safe one.
    fn default() -> Self {
        Self::WORST
    }
}

impl fmt::Debug for Hints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |yes, word, no| if yes { word } else { no };
        write!(
            f,
            "Hints({}, {}, {})",
            self.effect,
            word(self.idempotent, "idempotent", "not idempotent"),
            word(self.open_world, "open world", "closed world"),
        )
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn any_hints() -> impl Strategy<Value = Hints> {
        (0..Effect::ALL.len(), any::<[bool; 2]>()).prop_map(|(effect, [idempotent, open])| {
            let mut hints = Hints::from_effect(Effect::ALL[effect]);
            if idempotent {
                hints = hints.idempotent();
            }
            if open { hints } else { hints.closed_world() }
        })
    }

    #[test]
    fn hints_follow_from_the_effect() {
        let all = [Hints::READS, Hints::ADDS, Hints::CHANGES, Hints::DELETES, Hints::WORST];
        assert_eq!(all.map(Hints::is_read_only), [true, false, false, false, false]);
        assert_eq!(all.map(Hints::is_destructive), [false, false, true, true, true]);
        assert_eq!(all.map(Hints::is_idempotent), [true, false, false, false, false]);
        // An effect does not depend on whether a call is safe to retry.
        for hints in all {
            assert_eq!(hints.idempotent().effect(), hints.effect());
        }
    }

    proptest! {
        #[test]
        fn join_is_the_least_upper_bound(a in any_hints(), b in any_hints(), c in any_hints()) {
            prop_assert_eq!(a.join(a), a);
            prop_assert_eq!(a.join(b), b.join(a));
            prop_assert_eq!(a.join(b).join(c), a.join(b.join(c)));
            prop_assert!(a.is_at_most(a.join(b)));
            // The least: whatever is above both is above the join.
            prop_assert!(!(a.is_at_most(c) && b.is_at_most(c)) || a.join(b).is_at_most(c));
            prop_assert!(!(a.is_at_most(b) && b.is_at_most(c)) || a.is_at_most(c));
            prop_assert!(a.is_at_most(Hints::WORST));
        }

        #[test]
        fn hints_of_equal_risk_publish_the_same_booleans(a in any_hints(), b in any_hints()) {
            let four = |h: Hints| (h.is_read_only(), h.is_destructive(), h.is_idempotent(), h.is_open_world());
            prop_assert!(!(a.is_at_most(b) && b.is_at_most(a)) || four(a) == four(b));
        }

        #[test]
        fn hints_never_contradict_themselves(a in any_hints(), b in any_hints()) {
            for hints in [a, a.join(b), a.idempotent(), a.closed_world()] {
                prop_assert!(!hints.is_read_only() || (hints.is_idempotent() && !hints.is_destructive()));
            }
        }

        #[test]
        fn idempotent_and_local_hints_are_only_safer(a in any_hints()) {
            prop_assert!(a.idempotent().is_at_most(a) && a.closed_world().is_at_most(a));
        }
    }
}

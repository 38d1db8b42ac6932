//! The four answers and their order.

use std::fmt;

use crate::declared::Declared;

/// What a call may do, at worst. There are always four answers, and they never contradict each other: what only reads is
/// neither destructive nor different the second time.
///
/// Each answer has a safe side and a risky one; a set of hints is at most as risky as another if each answer is.
///
/// ```
/// use candor_hints::Hints;
///
/// let append = Hints::ADDS.closed_world();
/// let replace = Hints::DELETES.repeatable().closed_world();
/// assert!(Hints::READS.closed_world().is_at_most(append));
/// // Either of the two: it may delete, and not even a repetition is harmless.
/// assert_eq!(append.join(replace), Hints::WORST.closed_world());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hints {
    read_only: bool,
    destructive: bool,
    idempotent: bool,
    open_world: bool,
}

impl Hints {
    /// Nothing is known: it may destroy, again and again, and reach outside.
    pub const WORST: Self =
        Self { read_only: false, destructive: true, idempotent: false, open_world: true };

    /// Changes nothing, here or anywhere; what it reads may be outside.
    pub const READS: Self =
        Self { read_only: true, destructive: false, idempotent: true, open_world: true };

    /// Adds something each time, and takes nothing away.
    pub const ADDS: Self =
        Self { read_only: false, destructive: false, idempotent: false, open_world: true };

    /// Takes something away that cannot be had back.
    pub const DELETES: Self = Self::WORST;

    /// The hints with these answers. What only reads is not destructive, whatever is said.
    #[must_use]
    pub const fn new(
        read_only: bool,
        destructive: bool,
        idempotent: bool,
        open_world: bool,
    ) -> Self {
        Self {
            read_only,
            destructive: destructive && !read_only,
            idempotent: idempotent || read_only,
            open_world,
        }
    }

    /// The same, but a second call with the same arguments has no further effect.
    #[must_use]
    pub const fn repeatable(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// The same, but it touches nothing beyond the server's own world.
    #[must_use]
    pub const fn closed_world(mut self) -> Self {
        self.open_world = false;
        self
    }

    /// Changes nothing.
    #[must_use]
    pub const fn is_read_only(self) -> bool {
        self.read_only
    }

    /// May take something away.
    #[must_use]
    pub const fn is_destructive(self) -> bool {
        self.destructive
    }

    /// A second call with the same arguments has no further effect.
    #[must_use]
    pub const fn is_idempotent(self) -> bool {
        self.idempotent
    }

    /// May touch what is outside the server's own world.
    #[must_use]
    pub const fn is_open_world(self) -> bool {
        self.open_world
    }

    /// The least that is as risky as either.
    #[must_use]
    pub const fn join(self, other: Self) -> Self {
        Self {
            read_only: self.read_only && other.read_only,
            destructive: self.destructive || other.destructive,
            idempotent: self.idempotent && other.idempotent,
            open_world: self.open_world || other.open_world,
        }
    }

    /// Whether no answer is riskier than the other's.
    #[must_use]
    pub fn is_at_most(self, bound: Self) -> bool {
        self.join(bound) == bound
    }

    /// The same as a declaration: everything is said.
    #[must_use]
    pub const fn declared(self) -> Declared {
        Declared {
            read_only: Some(self.read_only),
            destructive: Some(self.destructive),
            idempotent: Some(self.idempotent),
            open_world: Some(self.open_world),
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
            "Hints({}, {}, {}, {})",
            word(self.read_only, "read-only", "writes"),
            word(self.destructive, "destructive", "additive"),
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
        any::<[bool; 4]>().prop_map(|[r, d, i, o]| Hints::new(r, d, i, o))
    }

    proptest! {
        #[test]
        fn joining_is_a_lattice(a in any_hints(), b in any_hints(), c in any_hints()) {
            prop_assert_eq!(a.join(a), a);
            prop_assert_eq!(a.join(b), b.join(a));
            prop_assert_eq!(a.join(b).join(c), a.join(b.join(c)));
            prop_assert!(a.is_at_most(a.join(b)));
            // The least: whatever is above both is above the join.
            prop_assert!(!(a.is_at_most(c) && b.is_at_most(c)) || a.join(b).is_at_most(c));
            prop_assert!(a.is_at_most(Hints::WORST));
        }

        #[test]
        fn no_hints_contradict_themselves(a in any_hints(), b in any_hints()) {
            for hints in [a, a.join(b), a.repeatable(), a.closed_world()] {
                prop_assert!(!hints.is_read_only() || (hints.is_idempotent() && !hints.is_destructive()));
            }
        }

        #[test]
        fn words_only_make_hints_safer(a in any_hints()) {
            prop_assert!(a.repeatable().is_at_most(a) && a.closed_world().is_at_most(a));
        }
    }
}

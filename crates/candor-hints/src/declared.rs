//! What somebody said, and what it means.

use crate::hints::Hints;

/// Hints as somebody declared them: each may be missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Declared {
    /// Changes nothing.
    pub read_only: Option<bool>,
    /// May take something away.
    pub destructive: Option<bool>,
    /// A second call has no further effect.
    pub idempotent: Option<bool>,
    /// May touch what is outside.
    pub open_world: Option<bool>,
}

/// What a declaration means: the hints, and where each comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effective {
    /// The hints.
    pub hints: Hints,
    /// Where they come from: read-only, destructive, idempotent, open world.
    pub sources: [Source; 4],
}

/// Where a hint comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Somebody said so, for every call of the tool.
    Declared,
    /// Nobody said anything, so the protocol's default holds: the risky one.
    Default,
    /// Found out for these very arguments.
    Resolved,
}

impl Source {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Default => "default",
            Self::Resolved => "resolved",
        }
    }
}

impl Declared {
    /// What it means. The only way to read a declaration: gaps are filled with the protocol's defaults, and who says
    /// that a tool only reads and destroys is believed in neither.
    #[must_use]
    pub fn effective(&self) -> Effective {
        let source = |said: Option<bool>| match said {
            Some(_) => Source::Declared,
            None => Source::Default,
        };
        let read_only = self.read_only.unwrap_or(false);
        let hints = if read_only && self.destructive == Some(true) {
            Hints::WORST
        } else {
            Hints::new(
                read_only,
                self.destructive.unwrap_or(true),
                self.idempotent.unwrap_or(false),
                self.open_world.unwrap_or(true),
            )
        };
        let said = [self.read_only, self.destructive, self.idempotent, self.open_world];
        Effective { hints, sources: said.map(source) }
    }
}

impl Effective {
    /// Hints that were found out for certain arguments.
    #[must_use]
    pub const fn resolved(hints: Hints) -> Self {
        Self { hints, sources: [Source::Resolved; 4] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hints::tests::any_hints;
    use proptest::prelude::*;

    #[test]
    fn a_gap_is_never_the_safe_side() {
        assert_eq!(Declared::default().effective().hints, Hints::WORST);
        let reads = Declared { read_only: Some(true), ..Declared::default() };
        assert_eq!(reads.effective().hints, Hints::READS);
        assert_eq!(
            reads.effective().sources,
            [Source::Declared, Source::Default, Source::Default, Source::Default]
        );
    }

    #[test]
    fn a_contradiction_is_the_worst_case() {
        let both =
            Declared { read_only: Some(true), destructive: Some(true), ..Declared::default() };
        assert_eq!(both.effective().hints, Hints::WORST);
    }

    proptest! {
        #[test]
        fn what_we_say_is_what_is_read(hints in any_hints()) {
            prop_assert_eq!(hints.declared().effective().hints, hints);
        }

        #[test]
        fn saying_less_is_never_safer(hints in any_hints(), kept: [bool; 4]) {
            let all = hints.declared();
            let keep = |said: Option<bool>, kept: bool| said.filter(|_| kept);
            let some = Declared {
                read_only: keep(all.read_only, kept[0]),
                destructive: keep(all.destructive, kept[1]),
                idempotent: keep(all.idempotent, kept[2]),
                open_world: keep(all.open_world, kept[3]),
            };
            prop_assert!(hints.is_at_most(some.effective().hints));
        }
    }
}

//! Whom to believe, and when to ask.

use std::collections::{HashMap, HashSet};

use candor_hints::{AskLevel, DeclaredHints, Hints, Verdict};

/// How far a server's own words about its tools are believed.
///
/// Hints are what a server says of itself: whoever wants to delete files can call it reading.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Trust {
    /// Not at all: what it says may add caution and never removes any. Whatever the host has not classified itself is the worst case.
    #[default]
    Untrusted,
    /// It says what is so.
    Trusted,
}

/// What a host lets happen without asking.
///
/// ```
/// use candor_client::{AskLevel, Hints, HostPolicy};
///
/// let policy = HostPolicy::ask(AskLevel::Writes)
///     .classify("list_files", Hints::READS.closed_world())   // the host's own opinion: of use with strangers
///     .deny("drop_database");
/// ```
#[derive(Debug, Clone)]
pub struct HostPolicy {
    ask: AskLevel,
    outside: bool,
    own: HashMap<String, Hints>,
    denied: HashSet<String>,
    pub(crate) skip_where_static_suffices: bool,
    pub(crate) proceed_unforeseen: bool,
    pub(crate) keeps_answers: bool,
}

impl Default for HostPolicy {
    fn default() -> Self {
        Self::ask(AskLevel::Destructive)
    }
}

impl HostPolicy {
    /// Asks about such calls.
    #[must_use]
    pub fn ask(ask: AskLevel) -> Self {
        Self {
            ask,
            outside: false,
            own: HashMap::new(),
            denied: HashSet::new(),
            skip_where_static_suffices: false,
            proceed_unforeseen: false,
            keeps_answers: false,
        }
    }

    /// Asks also about calls that reach outside and do more than read.
    #[must_use]
    pub fn and_what_reaches_outside(mut self) -> Self {
        self.outside = true;
        self
    }

    /// The host's own opinion of a tool: what its calls do at worst. What the server says explicitly can make it worse.
    #[must_use]
    pub fn classify(mut self, tool: impl Into<String>, hints: Hints) -> Self {
        self.own.insert(tool.into(), hints);
        self
    }

    /// Never calls this tool.
    #[must_use]
    pub fn deny(mut self, tool: impl Into<String>) -> Self {
        self.denied.insert(tool.into());
        self
    }

    /// Does not ask the server what a call would do where the tool's static hints lead to the same decision.
    #[must_use]
    pub fn skip_where_static_suffices(mut self) -> Self {
        self.skip_where_static_suffices = true;
        self
    }

    /// Goes on where a server was asked what a call would do and failed, and the tool declares nothing: as the worst case.
    #[must_use]
    pub fn proceed_unforeseen(mut self) -> Self {
        self.proceed_unforeseen = true;
        self
    }

    /// Asks once what a call would do, and keeps the answer for the same arguments: where the server is known, and says that the
    /// tool's effects are a table, which says the same as long as the tool is the same. When its tools have changed, it is asked anew.
    #[must_use]
    pub fn keep_answers(mut self) -> Self {
        self.keeps_answers = true;
        self
    }

    /// What becomes of a call that does this.
    #[must_use]
    pub fn judge(&self, tool: &str, hints: Hints) -> Verdict {
        if self.denied.contains(tool) {
            Verdict::Deny
        } else if self.ask.covers(hints)
            || (self.outside && hints.is_open_world() && !hints.is_read_only())
        {
            Verdict::Ask
        } else {
            Verdict::Allow
        }
    }

    /// What a call does, for all that this host may assume: from what the server declared, what it answered for these
    /// arguments, and how far it is believed.
    #[must_use]
    pub fn effective(
        &self,
        tool: &str,
        trust: Trust,
        declared: &DeclaredHints,
        asked: Option<&DeclaredHints>,
    ) -> Hints {
        let own = self.own.get(tool);
        let said = |declared: &DeclaredHints| match own {
            // Where the server is silent, the host's opinion counts; where it is not, the worse of both.
            Some(own) => filled(declared, *own).effective().hints.join(*own),
            None => declared.effective().hints,
        };
        match (trust, own) {
            (Trust::Untrusted, None) => Hints::WORST,
            (Trust::Untrusted, Some(_)) => {
                asked.map_or(said(declared), |asked| said(asked).join(said(declared)))
            }
            (Trust::Trusted, _) => said(asked.unwrap_or(declared)),
        }
    }
}

fn filled(declared: &DeclaredHints, own: Hints) -> DeclaredHints {
    let own = own.declared();
    DeclaredHints {
        read_only: declared.read_only.or(own.read_only),
        destructive: declared.destructive.or(own.destructive),
        idempotent: declared.idempotent.or(own.idempotent),
        open_world: declared.open_world.or(own.open_world),
        // The host's own effect is joined to the hints; the server's makes its hints exact.
        effect: declared.effect.or(own.effect),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_hints::Effect;
    use proptest::prelude::*;

    fn any_declared() -> impl Strategy<Value = DeclaredHints> {
        let effect = proptest::option::of(proptest::sample::select(&Effect::ALL[..]));
        (any::<[Option<bool>; 4]>(), effect).prop_map(
            |([read_only, destructive, idempotent, open_world], effect)| DeclaredHints {
                read_only,
                destructive,
                idempotent,
                open_world,
                effect,
            },
        )
    }

    fn any_hints() -> impl Strategy<Value = Hints> {
        any_declared().prop_map(|declared| declared.effective().hints)
    }

    proptest! {
        #[test]
        fn a_stranger_never_removes_caution(
            own in proptest::option::of(any_hints()),
            declared in any_declared(),
            asked in proptest::option::of(any_declared()),
        ) {
            let mut policy = HostPolicy::default();
            if let Some(own) = own {
                policy = policy.classify("t", own);
            }
            let hints = policy.effective("t", Trust::Untrusted, &declared, asked.as_ref());
            prop_assert!(own.unwrap_or(Hints::WORST).is_at_most(hints));
            let without = policy.effective("t", Trust::Untrusted, &declared, None);
            prop_assert!(without.is_at_most(hints), "what it answers adds, never removes");
        }

        #[test]
        fn who_is_known_is_taken_at_its_word(declared in any_declared(), asked in any_declared()) {
            let policy = HostPolicy::default();
            let hints = policy.effective("t", Trust::Trusted, &declared, Some(&asked));
            prop_assert_eq!(hints, asked.effective().hints);
            let hints = policy.effective("t", Trust::Trusted, &declared, None);
            prop_assert_eq!(hints, declared.effective().hints);
        }
    }

    #[test]
    fn the_words_decide() {
        let policy = HostPolicy::ask(AskLevel::Destructive).deny("never");
        assert_eq!(policy.judge("t", Hints::ADDS), Verdict::Allow);
        let policy = policy.and_what_reaches_outside();
        assert_eq!(policy.judge("t", Hints::READS), Verdict::Allow);
        assert_eq!(policy.judge("t", Hints::ADDS.closed_world()), Verdict::Allow);
        assert_eq!(policy.judge("t", Hints::ADDS), Verdict::Ask);
        assert_eq!(policy.judge("t", Hints::WORST), Verdict::Ask);
        assert_eq!(policy.judge("never", Hints::READS), Verdict::Deny);
    }
}

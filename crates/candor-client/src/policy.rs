//! Which servers to trust, and when to ask for confirmation.

use std::collections::{HashMap, HashSet};

use candor_hints::{AskLevel, DeclaredHints, Hints, Verdict};

/// Whether a server's hints count.
///
/// Hints are the server's own claims: a server that deletes files can declare its tool read-only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Trust {
    /// The hints may add caution, but never remove any. A tool that the host has not classified counts as the worst case.
    #[default]
    Untrusted,
    /// The hints count.
    Trusted,
}

/// The host's policy: which calls need confirmation, and which are denied.
///
/// ```
/// use candor_client::{AskLevel, Hints, HostPolicy};
///
/// let policy = HostPolicy::ask(AskLevel::Writes)
///     .classify("list_files", Hints::READS.closed_world())   // the host's own hints, for untrusted servers
///     .deny("drop_database");
/// ```
#[derive(Debug, Clone)]
pub struct HostPolicy {
    ask: AskLevel,
    outside: bool,
    own: HashMap<String, Hints>,
    denied: HashSet<String>,
    pub(crate) skip_where_static_suffices: bool,
    pub(crate) proceed_unevaluated: bool,
    pub(crate) keeps_answers: bool,
}

impl Default for HostPolicy {
    fn default() -> Self {
        Self::ask(AskLevel::Destructive)
    }
}

impl HostPolicy {
    /// Creates a policy that asks about the calls of this level.
    #[must_use]
    pub fn ask(ask: AskLevel) -> Self {
        Self {
            ask,
            outside: false,
            own: HashMap::new(),
            denied: HashSet::new(),
            skip_where_static_suffices: false,
            proceed_unevaluated: false,
            keeps_answers: false,
        }
    }

    /// Also asks about calls that do more than read and may reach external systems.
    #[must_use]
    pub fn and_external(mut self) -> Self {
        self.outside = true;
        self
    }

    /// Sets the host's own hints for a tool: the worst effect of its calls. Explicit hints of the server can make it worse.
    #[must_use]
    pub fn classify(mut self, tool: impl Into<String>, hints: Hints) -> Self {
        self.own.insert(tool.into(), hints);
        self
    }

    /// Denies all calls of this tool.
    #[must_use]
    pub fn deny(mut self, tool: impl Into<String>) -> Self {
        self.denied.insert(tool.into());
        self
    }

    /// Does not ask the server to evaluate a call that this policy allows or denies by the tool's static hints alone.
    ///
    /// This relies on the static hints: they should be the worst case of all calls, but nothing checks that. Without this setting,
    /// an evaluation that is worse than them counts, and the client logs a warning. With it, such a call runs without confirmation.
    #[must_use]
    pub fn skip_where_static_suffices(mut self) -> Self {
        self.skip_where_static_suffices = true;
        self
    }

    /// Continues if the server fails to evaluate a call and the tool declares nothing. The call then counts as the worst case.
    #[must_use]
    pub fn proceed_unevaluated(mut self) -> Self {
        self.proceed_unevaluated = true;
        self
    }

    /// Caches evaluations by their arguments, if the server is trusted and the tool has an effect table. Such a table gives the
    /// same answer as long as the tool stays the same. After a change of the server's tools, the client asks again.
    #[must_use]
    pub fn cache_evaluations(mut self) -> Self {
        self.keeps_answers = true;
        self
    }

    /// Returns the verdict on a call with these hints.
    #[must_use]
    pub fn verdict(&self, tool: &str, hints: Hints) -> Verdict {
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

    /// Returns the worst effect that this host must assume, from what the server declares, what it answered for these arguments,
    /// and whether it is trusted.
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
            // The host's hints fill the gaps. Where the server reports a hint, the worse of both counts.
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
        // The caller joins the host's own effect to the hints. The server's effect makes its hints exact.
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
        fn untrusted_hints_never_lower_the_risk(
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
        fn trusted_answer_replaces_declared_hints(declared in any_declared(), asked in any_declared()) {
            let policy = HostPolicy::default();
            let hints = policy.effective("t", Trust::Trusted, &declared, Some(&asked));
            prop_assert_eq!(hints, asked.effective().hints);
            let hints = policy.effective("t", Trust::Trusted, &declared, None);
            prop_assert_eq!(hints, declared.effective().hints);
        }
    }

    #[test]
    fn host_policy_verdict_follows_ask_level_reach_and_deny_list() {
        let policy = HostPolicy::ask(AskLevel::Destructive).deny("never");
        assert_eq!(policy.verdict("t", Hints::ADDS), Verdict::Allow);
        let policy = policy.and_external();
        assert_eq!(policy.verdict("t", Hints::READS), Verdict::Allow);
        assert_eq!(policy.verdict("t", Hints::ADDS.closed_world()), Verdict::Allow);
        assert_eq!(policy.verdict("t", Hints::ADDS), Verdict::Ask);
        assert_eq!(policy.verdict("t", Hints::WORST), Verdict::Ask);
        assert_eq!(policy.verdict("never", Hints::READS), Verdict::Deny);
    }
}

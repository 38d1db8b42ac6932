//! Whether a call may start: by policy and, if the policy asks, by approval.
//!
//! - here: the policy. It adds no cost to a call that needs no approval.
//! - `approval`: asks for approval once, through every approval channel.
//! - `prompts`: the questions that clients show to their users now.
//! - `grant`: the arguments that a grant covers.

pub(crate) mod approval;
mod grant;
pub(crate) mod prompts;

use std::collections::HashMap;
use std::time::Duration;

use candor_hints::{AskLevel, Hints, Verdict};
use candor_protocol::Principal;
use sha2::{Digest as _, Sha256};

use crate::admission::plan::StateDigest;
use crate::tool::RegisteredTool;

pub use grant::{ArgumentPattern, PatternError};

/// Which calls need approval, and how the server asks.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    pub(crate) ask: AskLevel,
    pub(crate) by_tool: HashMap<String, Rule>,
    /// Only operators can review; the caller's own client cannot.
    pub(crate) operators_only: bool,
    /// How long the server holds a call that waits for approval.
    pub(crate) hold: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            ask: AskLevel::default(),
            by_tool: HashMap::new(),
            operators_only: false,
            hold: Duration::from_secs(45),
        }
    }
}

/// The server's rule for one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    Ask(AskLevel),
    Deny,
}

impl Rule {
    /// Returns the word that is part of every approval's binding. A different word voids all approvals.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ask(ask) => ask.as_str(),
            Self::Deny => "deny",
        }
    }
}

impl Policy {
    /// Returns true if the caller's own client may be asked about its calls. The client of an anonymous caller may not: any program
    /// that reaches the port could call and approve the call itself.
    pub(crate) fn asks_client_of(&self, caller: &Principal) -> bool {
        !self.operators_only && !caller.is_anonymous()
    }

    /// Returns true if any rule can require approval.
    pub(crate) fn asks(&self) -> bool {
        let rules = self.by_tool.values();
        self.ask != AskLevel::Never
            || rules
                .into_iter()
                .any(|rule| matches!(rule, Rule::Ask(ask) if *ask != AskLevel::Never))
    }

    /// Returns the verdict on a call. The stricter of the tool's and the server's ask level counts, and a deny rule overrides both.
    pub(crate) fn verdict(&self, entry: &RegisteredTool, hints: Hints) -> Verdict {
        let of_server = match self.by_tool.get(entry.name()) {
            Some(Rule::Deny) => return Verdict::Deny,
            Some(Rule::Ask(ask)) => *ask,
            None => self.ask,
        };
        if of_server.max(entry.ask).covers(hints) { Verdict::Ask } else { Verdict::Allow }
    }

    /// Returns a hash that tells this policy from others.
    pub(crate) fn id(&self) -> u64 {
        let mut rules: Vec<String> =
            self.by_tool.iter().map(|(tool, rule)| format!("{tool}: {rule:?}")).collect();
        rules.sort();
        let mut hash = std::hash::DefaultHasher::new();
        std::hash::Hash::hash(&(self.ask, rules), &mut hash);
        std::hash::Hasher::finish(&hash)
    }

    /// Returns what an approval is bound to, besides the call itself: the tool's definition, the policy, and the state that a
    /// preview saw. A grant made from it is bound to the same, except for the state.
    pub(crate) fn binding(
        &self,
        entry: &RegisteredTool,
        world: StateDigest,
    ) -> candor_ledger::Binding {
        let mut hash = Sha256::new();
        hash.update(b"candor/approval/2");
        hash.update(entry.digest());
        let of_tool = self.by_tool.get(entry.name()).map_or("", |rule| rule.as_str());
        hash.update(format!("{} {of_tool}", self.ask.as_str()));
        hash.update([u8::from(self.operators_only)]);
        candor_ledger::Binding::new(&hash.finalize().into(), world.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{JsonTool, ToolError};

    fn entry(ask: AskLevel) -> RegisteredTool {
        let tool = JsonTool::open("t", |_, _| async { Ok::<_, ToolError>("") });
        RegisteredTool::of(std::sync::Arc::new(tool.hints(Hints::READS).ask(ask))).unwrap()
    }

    #[test]
    fn policy_takes_the_stricter_of_author_and_server() {
        let judged = |of_author, of_server, rule: Option<Rule>, hints| {
            let by_tool = rule.map(|rule| ("t".to_owned(), rule)).into_iter().collect();
            Policy { ask: of_server, by_tool, ..Policy::default() }
                .verdict(&entry(of_author), hints)
        };
        for (of_author, of_server, rule, hints, expected) in [
            (AskLevel::Never, AskLevel::Never, None, Hints::DELETES, Verdict::Allow),
            (AskLevel::Never, AskLevel::Destructive, None, Hints::DELETES, Verdict::Ask),
            (AskLevel::Never, AskLevel::Destructive, None, Hints::ADDS, Verdict::Allow),
            (AskLevel::Always, AskLevel::Never, None, Hints::READS, Verdict::Ask),
            (
                AskLevel::Never,
                AskLevel::Always,
                Some(Rule::Ask(AskLevel::Never)),
                Hints::ADDS,
                Verdict::Allow,
            ),
            (
                AskLevel::Writes,
                AskLevel::Always,
                Some(Rule::Ask(AskLevel::Never)),
                Hints::ADDS,
                Verdict::Ask,
            ),
            (AskLevel::Always, AskLevel::Always, Some(Rule::Deny), Hints::READS, Verdict::Deny),
        ] {
            assert_eq!(judged(of_author, of_server, rule, hints), expected, "{rule:?} {hints:?}");
        }
    }

    #[test]
    fn approval_binding_covers_policy_and_previewed_state() {
        let policy = |ask| Policy { ask, ..Policy::default() };
        let denied =
            |rule| Policy { by_tool: [("t".to_owned(), rule)].into(), ..policy(AskLevel::Writes) };
        let (tool, world) = (entry(AskLevel::Never), Some([7; 32]));
        let all = [
            policy(AskLevel::Writes).binding(&tool, None),
            policy(AskLevel::Writes).binding(&tool, world),
            policy(AskLevel::Always).binding(&tool, None),
            denied(Rule::Deny).binding(&tool, None),
            denied(Rule::Ask(AskLevel::Never)).binding(&tool, None),
            Policy { operators_only: true, ..policy(AskLevel::Writes) }.binding(&tool, None),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "binding {at} equals an earlier one");
        }
        assert_eq!(policy(AskLevel::Writes).binding(&entry(AskLevel::Never), None), all[0]);
    }
}

//! Whether a call may start: by policy, and where that says so, by a person.
//!
//! - here: the policy. Looking at it costs a call that needs no asking nothing.
//! - `approval`: asking a person, on every channel that there is, once.
//! - `prompts`: what stands before a person already.
//! - `expectation`: what the caller was told about the call.
//! - `grant`: what a person has permitted beforehand, for a while.

pub(crate) mod approval;
pub(crate) mod expectation;
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

/// What a server asks about, and how.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    pub(crate) ask: AskLevel,
    pub(crate) by_tool: HashMap<String, Rule>,
    /// The caller's own client cannot decide.
    pub(crate) operators_only: bool,
    /// How long a call that waits for a person is held.
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

/// What a server says of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    Ask(AskLevel),
    Deny,
}

impl Rule {
    /// Stands in what approvals are bound to: another word makes all of them void.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ask(ask) => ask.as_str(),
            Self::Deny => "deny",
        }
    }
}

impl Policy {
    /// Whether a caller's own client may be asked about its calls. Not that of a caller who is nobody in particular: whatever
    /// reaches the port could call and say yes itself, and no person would have been asked.
    pub(crate) fn asks_client_of(&self, caller: &Principal) -> bool {
        !self.operators_only && !caller.is_anonymous()
    }

    /// Whether anybody may ever be asked.
    pub(crate) fn asks(&self) -> bool {
        let rules = self.by_tool.values();
        self.ask != AskLevel::Never
            || rules
                .into_iter()
                .any(|rule| matches!(rule, Rule::Ask(ask) if *ask != AskLevel::Never))
    }

    /// Nobody is asked less than the tool's author wants, nor less than the server does.
    pub(crate) fn judge(&self, entry: &RegisteredTool, hints: Hints) -> Verdict {
        let of_server = match self.by_tool.get(entry.name()) {
            Some(Rule::Deny) => return Verdict::Deny,
            Some(Rule::Ask(ask)) => *ask,
            None => self.ask,
        };
        if of_server.max(entry.ask).covers(hints) { Verdict::Ask } else { Verdict::Allow }
    }

    /// Tells it from others.
    pub(crate) fn id(&self) -> u64 {
        let mut rules: Vec<String> =
            self.by_tool.iter().map(|(tool, rule)| format!("{tool}: {rule:?}")).collect();
        rules.sort();
        let mut hash = std::hash::DefaultHasher::new();
        std::hash::Hash::hash(&(self.ask, rules), &mut hash);
        std::hash::Hasher::finish(&hash)
    }

    /// What an approval of a call is bound to, besides the call itself: the tool as it was, what is asked about, and the world as
    /// a preview saw it. A grant that is made from it is bound to the same, the world aside.
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
    fn nobody_is_asked_less_than_author_or_server_want_and_what_is_forbidden_stays_so() {
        let judged = |of_author, of_server, rule: Option<Rule>, hints| {
            let by_tool = rule.map(|rule| ("t".to_owned(), rule)).into_iter().collect();
            Policy { ask: of_server, by_tool, ..Policy::default() }.judge(&entry(of_author), hints)
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
    fn an_approval_is_bound_to_all_that_was_decided_under() {
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
            assert!(!all[..at].contains(one), "the one at {at} is like another");
        }
        assert_eq!(policy(AskLevel::Writes).binding(&entry(AskLevel::Never), None), all[0]);
    }
}

//! Whether a call may start: by policy, and where that says so, by a person.
//!
//! - here: the policy. Looking at it costs a call that needs no asking nothing.
//! - `approval`: asking a person, on every channel that there is, once.
//! - `prompts`: what stands before a person already.
//! - `grant`: what a person has permitted beforehand, for a while.

pub(crate) mod approval;
mod grant;
pub(crate) mod prompts;

use std::collections::HashMap;
use std::time::Duration;

use candor_hints::{Ask, Hints, Judgement};
use candor_protocol::Principal;
use sha2::{Digest as _, Sha256};

use crate::admission::plan::World;
use crate::tool::Entry;

pub use grant::{Pattern, PatternError};

/// What a server asks about, and how.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    pub(crate) ask: Ask,
    pub(crate) by_tool: HashMap<String, Rule>,
    /// The caller's own client cannot decide.
    pub(crate) out_of_band: bool,
    /// How long a call that waits for a person is held.
    pub(crate) hold: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            ask: Ask::default(),
            by_tool: HashMap::new(),
            out_of_band: false,
            hold: Duration::from_secs(45),
        }
    }
}

/// What a server says of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    Ask(Ask),
    Deny,
}

impl Policy {
    /// Whether a caller's own client may be asked about its calls. Not that of a caller who is nobody in particular: whatever
    /// reaches the port could call and say yes itself, and no person would have been asked.
    pub(crate) fn asks_client_of(&self, caller: &Principal) -> bool {
        !self.out_of_band && !caller.is_anonymous()
    }

    /// Whether anybody may ever be asked.
    pub(crate) fn asks(&self) -> bool {
        let rules = self.by_tool.values();
        self.ask != Ask::Never
            || rules.into_iter().any(|rule| matches!(rule, Rule::Ask(ask) if *ask != Ask::Never))
    }

    /// Nobody is asked less than the tool's author wants, nor less than the server does.
    pub(crate) fn judge(&self, entry: &Entry, hints: Hints) -> Judgement {
        let of_server = match self.by_tool.get(entry.name()) {
            Some(Rule::Deny) => return Judgement::Deny,
            Some(Rule::Ask(ask)) => *ask,
            None => self.ask,
        };
        if of_server.max(entry.ask).covers(hints) { Judgement::Ask } else { Judgement::Allow }
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
    pub(crate) fn binding(&self, entry: &Entry, world: World) -> candor_ledger::Binding {
        let mut hash = Sha256::new();
        hash.update(b"candor/approval/1");
        hash.update(serde_json::to_vec(&entry.definition).unwrap_or_default());
        hash.update(self.ask.as_str());
        hash.update(format!("{:?}", self.by_tool.get(entry.name())));
        hash.update([u8::from(self.out_of_band)]);
        candor_ledger::Binding::new(&hash.finalize().into(), world.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_covers_what_the_one_before_does() {
        let kinds = [Hints::READS, Hints::ADDS, Hints::DELETES];
        let asked = |ask: Ask| kinds.map(|hints| ask.covers(hints));
        assert_eq!(asked(Ask::Never), [false, false, false]);
        assert_eq!(asked(Ask::Destructive), [false, false, true]);
        assert_eq!(asked(Ask::Writes), [false, true, true]);
        assert_eq!(asked(Ask::Always), [true, true, true]);
    }
}

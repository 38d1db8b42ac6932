//! The built-in policy: ask levels, and rules for single tools.

use std::collections::HashMap;

use candor_hints::{AskLevel, Hints, Verdict};

use crate::tool::RegisteredTool;

/// The rules of the built-in policy. They are looked up without a future, because every call passes them.
#[derive(Debug, Clone, Default)]
pub(crate) struct LevelRules {
    pub(crate) ask: AskLevel,
    pub(crate) by_tool: HashMap<String, ToolRule>,
}

/// The server's rule for one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolRule {
    Ask(AskLevel),
    Deny,
}

impl ToolRule {
    /// Returns the word that is part of every approval's binding. A different word voids all approvals.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ask(ask) => ask.as_str(),
            Self::Deny => "deny",
        }
    }
}

impl LevelRules {
    /// Returns true if any rule can require approval.
    pub(crate) fn may_ask(&self) -> bool {
        let rules = self.by_tool.values();
        self.ask != AskLevel::Never
            || rules
                .into_iter()
                .any(|rule| matches!(rule, ToolRule::Ask(ask) if *ask != AskLevel::Never))
    }

    /// Returns the verdict on a call. The stricter of the tool's and the server's ask level counts, and a deny rule overrides both.
    pub(crate) fn verdict(&self, entry: &RegisteredTool, hints: Hints) -> Verdict {
        let of_server = match self.by_tool.get(entry.name()) {
            Some(ToolRule::Deny) => return Verdict::Deny,
            Some(ToolRule::Ask(ask)) => *ask,
            None => self.ask,
        };
        if of_server.max(entry.ask).covers(hints) { Verdict::Ask } else { Verdict::Allow }
    }

    /// Returns the rule for calls of a tool, as approvals are bound to it.
    pub(super) fn rule(&self, tool: &str) -> String {
        let of_tool = self.by_tool.get(tool).map_or("", |rule| rule.as_str());
        format!("{} {of_tool}", self.ask.as_str())
    }

    /// Returns a hash that tells these rules from others.
    pub(super) fn id(&self) -> u64 {
        let mut rules: Vec<String> =
            self.by_tool.iter().map(|(tool, rule)| format!("{tool}: {rule:?}")).collect();
        rules.sort();
        let mut hash = std::hash::DefaultHasher::new();
        std::hash::Hash::hash(&(self.ask, rules), &mut hash);
        std::hash::Hasher::finish(&hash)
    }
}

//! The budget of one check, and where the check is.

use serde_json::Value;

use super::node::{Node, NodeId};

/// The budget of steps for one check. Each schema that a value meets, each member, each item, and other slow work take steps.
/// An honest check takes a few for each value; a schema that doubles its work at each level would never end.
pub(super) const STEPS: usize = 10_000_000;

/// Maximum number of nested schemas that one check may be in: several for each level of the deepest value, and few enough
/// for the stack.
pub(super) const DEEPEST: u32 = 1_000;

/// Maximum number of failures that one explanation collects, including alternatives that it then leaves out.
const FAILURES: usize = 10_000;

/// The state of one check.
pub(super) struct Run {
    steps: usize,
    depth: u32,
    pub(super) failures: usize,
    /// State that few schemas need.
    whereabouts: Option<Box<Whereabouts>>,
}

#[derive(Default)]
struct Whereabouts {
    /// The resources that were entered, outermost first. Empty without dynamic references.
    scope: Vec<u32>,
    /// Circular schemas that are being checked, with their values.
    open: Vec<(NodeId, *const Value)>,
}

/// What [`Run::unwatch`] has to undo.
pub(super) struct EntryGuard {
    scope: bool,
    open: bool,
}

impl Run {
    pub(super) fn new() -> Self {
        Self::of(STEPS)
    }

    pub(super) fn of(steps: usize) -> Self {
        Self { steps, depth: DEEPEST, failures: FAILURES, whereabouts: None }
    }

    /// Returns true if the check was given up. Any answer is then worthless, even a yes.
    pub(super) fn is_spent(&self) -> bool {
        self.steps == 0
    }

    #[cfg(test)]
    pub(super) fn steps_left(&self) -> usize {
        self.steps
    }

    /// Ends the check, because it would take too much memory.
    pub(super) fn give_up(&mut self) {
        self.steps = 0;
    }

    /// Takes steps for work other than entering a schema.
    #[inline]
    pub(super) fn charge(&mut self, steps: usize) {
        self.steps = self.steps.saturating_sub(steps);
    }

    /// Enters a schema. Returns false if the steps or the depth run out.
    #[inline]
    pub(super) fn enter(&mut self) -> bool {
        if self.steps <= 1 || self.depth == 0 {
            self.steps = 0;
            return false;
        }
        self.steps -= 1;
        self.depth -= 1;
        true
    }

    #[inline]
    pub(super) fn leave(&mut self) {
        self.depth += 1;
    }

    /// Records where the check is. Returns `None` if it is there already: checking again would never end.
    pub(super) fn watch(&mut self, id: NodeId, node: &Node, value: &Value) -> Option<EntryGuard> {
        let here = self.whereabouts.get_or_insert_default();
        if node.circular {
            let value = std::ptr::from_ref(value);
            let mut looked_at = 0;
            let open = here.open.iter().rev().take_while(|(_, other)| *other == value);
            let again = open.inspect(|_| looked_at += 1).any(|(other, _)| *other == id);
            self.steps = self.steps.saturating_sub(looked_at / 8);
            if again {
                return None;
            }
            here.open.push((id, value));
        }
        let scope = node.scoped && here.scope.last() != Some(&node.resource);
        if scope {
            here.scope.push(node.resource);
        }
        Some(EntryGuard { scope, open: node.circular })
    }

    pub(super) fn unwatch(&mut self, entered: &EntryGuard) {
        let Some(here) = &mut self.whereabouts else { return };
        if entered.scope {
            here.scope.pop();
        }
        if entered.open {
            here.open.pop();
        }
    }

    /// Returns the resources that were entered, outermost first.
    pub(super) fn scope(&self) -> &[u32] {
        self.whereabouts.as_ref().map_or(&[], |here| &here.scope)
    }
}

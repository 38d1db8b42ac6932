//! The place of each schema in its document, in as few bytes as possible: only explanations need it.

use super::node::NodeId;

/// The parent of each schema, and the steps from there. Whole pointers would repeat the names of all parents, and a hostile
/// schema could make them long.
#[derive(Default)]
pub(super) struct Places {
    parents: Vec<NodeId>,
    ends: Vec<u32>,
    steps: String,
}

impl Places {
    pub(super) fn push(&mut self, parent: NodeId, step: &str) {
        self.steps.push_str(step);
        self.parents.push(parent);
        self.ends.push(u32::try_from(self.steps.len()).unwrap_or(u32::MAX));
    }

    /// Returns the JSON Pointer of a schema.
    pub(super) fn pointer(&self, node: NodeId) -> String {
        let mut steps = Vec::new();
        let mut node = node;
        while node != NodeId::ROOT {
            let start = self.ends[node.index() - 1] as usize;
            steps.push(&self.steps[start..self.ends[node.index()] as usize]);
            node = self.parents[node.index()];
        }
        steps.into_iter().rev().collect()
    }

    pub(super) fn shrink(&mut self) {
        self.parents.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.steps.shrink_to_fit();
    }
}

//! Dynamic references: the target depends on the schemas through which the check came.

use std::collections::HashMap;

use super::Validator;
use super::node::NodeId;
use super::run::Run;

/// The schema with an anchor, by the numbers of the resource and of the anchor's name.
pub(super) type Anchors = HashMap<(u32, u32), NodeId>;

/// A `$dynamicRef`, or a `$recursiveRef`, whose target has an anchor that outer schemas may have too.
pub(super) struct Dynamic {
    /// The number of the anchor's name.
    pub(super) anchor: u32,
    /// The target if no outer schema has the anchor.
    pub(super) plain: NodeId,
}

impl Dynamic {
    /// Returns the outermost schema with the anchor.
    pub(super) fn target(&self, validator: &Validator, run: &mut Run) -> NodeId {
        run.charge(run.scope().len() / 4);
        run.scope()
            .iter()
            .find_map(|resource| validator.anchors.get(&(*resource, self.anchor)))
            .copied()
            .unwrap_or(self.plain)
    }
}

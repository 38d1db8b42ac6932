//! Simplifies the graph of schemas: cuts out chains of references, and finds circles.

use super::node::{Keyword, Node, NodeId};
use super::refs::Anchors;
use super::types::Types;

/// Redirects references past schemas that are only references, and marks the schemas that can come back to themselves at the
/// same value. Returns the root.
pub(super) fn straighten(nodes: &mut [Node], anchors: &mut Anchors) -> NodeId {
    let targets: Vec<NodeId> = (0..nodes.len()).map(|i| target(nodes, NodeId::new(i))).collect();
    for node in nodes.iter_mut() {
        for keyword in &mut node.keywords {
            keyword.lead(&mut |id, _| *id = targets[id.index()]);
        }
    }
    anchors.values_mut().for_each(|id| *id = targets[id.index()]);
    note_circles(nodes);
    targets[0]
}

/// Returns which schemas a check may reach.
pub(super) fn reachable(nodes: &mut [Node], root: NodeId, anchors: &Anchors) -> Vec<bool> {
    let mut reached = vec![false; nodes.len()];
    let mut open: Vec<NodeId> = anchors.values().copied().chain([root]).collect();
    while let Some(id) = open.pop() {
        if !std::mem::replace(&mut reached[id.index()], true) {
            for keyword in &mut nodes[id.index()].keywords {
                keyword.lead(&mut |next, _| open.push(*next));
            }
        }
    }
    reached
}

/// Returns the end of a chain of references. A chain that leads back to its start asks for nothing, so its node stays.
fn target(nodes: &[Node], start: NodeId) -> NodeId {
    let mut id = start;
    for _ in 0..nodes.len().min(64) {
        let node = &nodes[id.index()];
        let [Keyword::Ref(next)] = &*node.keywords else { break };
        // With dynamic references, the resources on the way matter.
        if node.types != Types::ANY || node.scoped {
            break;
        }
        if *next == start {
            return start;
        }
        id = *next;
    }
    id
}

/// Marks the schemas on circles and between them. Removes the others: first those that nothing leads to, then those that
/// lead nowhere.
fn note_circles(nodes: &mut [Node]) {
    // A dynamic reference may lead to many places, so every schema counts as circular.
    if nodes.iter().any(|node| node.scoped) {
        nodes.iter_mut().for_each(|node| node.circular = true);
        return;
    }
    let mut ahead: Vec<Vec<NodeId>> = Vec::with_capacity(nodes.len());
    let mut behind: Vec<Vec<NodeId>> = vec![Vec::new(); nodes.len()];
    for (i, node) in nodes.iter_mut().enumerate() {
        let mut leads_to = Vec::new();
        for keyword in &mut node.keywords {
            keyword.lead(&mut |id, same_value| {
                if same_value {
                    leads_to.push(*id);
                    behind[id.index()].push(NodeId::new(i));
                }
            });
        }
        ahead.push(leads_to);
    }
    let mut left = vec![true; nodes.len()];
    peel(&mut left, &ahead, &behind);
    peel(&mut left, &behind, &ahead);
    for (node, left) in nodes.iter_mut().zip(left) {
        node.circular = left;
    }
}

/// Repeatedly removes the schemas that no remaining schema leads to.
fn peel(left: &mut [bool], ahead: &[Vec<NodeId>], behind: &[Vec<NodeId>]) {
    let still = |nodes: &[NodeId], left: &[bool]| nodes.iter().filter(|n| left[n.index()]).count();
    let mut counts: Vec<usize> = behind.iter().map(|nodes| still(nodes, left)).collect();
    let mut free: Vec<usize> = (0..left.len()).filter(|i| left[*i] && counts[*i] == 0).collect();
    while let Some(i) = free.pop() {
        left[i] = false;
        for next in &ahead[i] {
            let next = next.index();
            counts[next] -= 1;
            if left[next] && counts[next] == 0 {
                free.push(next);
            }
        }
    }
}

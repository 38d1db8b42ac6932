//! Members and items that no schema for the same value covers.
//!
//! A second pass over the schemas finds what they evaluated, after they have accepted the value. Of alternatives, only those
//! that match count. So other checks need no bookkeeping.

use serde_json::{Map, Value};

use super::Validator;
use super::failure::{Faults, Kind, Spot};
use super::node::{Keyword, NodeId, Rest};
use super::run::Run;
use crate::violation::shorten;

/// `unevaluatedProperties` or `unevaluatedItems`.
pub(super) struct Unevaluated {
    /// The schema that holds the keyword.
    pub(super) own: NodeId,
    pub(super) rest: Rest,
}

impl Unevaluated {
    pub(super) fn members_fit(
        &self,
        validator: &Validator,
        value: &Value,
        members: &Map<String, Value>,
        run: &mut Run,
    ) -> bool {
        if self.rest == Rest::Allowed {
            return true;
        }
        let marks = self.marks(validator, value, members.len(), run);
        let left = members.values().zip(&marks).filter(|(_, marked)| !**marked);
        left.map(|(member, _)| member).all(|member| self.allows(validator, member, run))
    }

    pub(super) fn items_fit(
        &self,
        validator: &Validator,
        value: &Value,
        items: &[Value],
        run: &mut Run,
    ) -> bool {
        if self.rest == Rest::Allowed {
            return true;
        }
        let marks = self.marks(validator, value, items.len(), run);
        let left = items.iter().zip(&marks).filter(|(_, marked)| !**marked);
        left.map(|(item, _)| item).all(|item| self.allows(validator, item, run))
    }

    fn allows(&self, validator: &Validator, value: &Value, run: &mut Run) -> bool {
        match self.rest {
            Rest::Unsaid | Rest::Allowed => true,
            Rest::Forbidden => false,
            Rest::Schema(node) => validator.fits(node, value, run),
        }
    }

    /// Returns which parts of the value the other keywords of its schema evaluate.
    fn marks(
        &self,
        validator: &Validator,
        value: &Value,
        parts: usize,
        run: &mut Run,
    ) -> Vec<bool> {
        let mut marks = vec![false; parts];
        run.charge(parts);
        for keyword in &validator.nodes[self.own.index()].keywords {
            if !matches!(keyword, Keyword::UnevaluatedProperties(_) | Keyword::UnevaluatedItems(_))
            {
                keyword.mark(validator, value, &mut marks, run);
            }
        }
        marks
    }

    pub(super) fn faults_of_members<'v>(
        &self,
        validator: &Validator,
        spot: &Spot<'_, 'v>,
        run: &mut Run,
        out: &mut Faults<'v>,
    ) {
        let Value::Object(members) = spot.value else { return };
        if self.rest == Rest::Allowed {
            return;
        }
        let marks = self.marks(validator, spot.value, members.len(), run);
        let left = members.iter().zip(&marks).filter(|(_, marked)| !**marked);
        let unknown: Vec<String> = left
            .filter(|((_, member), _)| !self.allows(validator, member, run))
            .map(|((name, _), _)| name.clone())
            .take(100)
            .collect();
        if !unknown.is_empty() {
            out.say(spot, "unevaluatedProperties", Kind::Unknown(unknown));
        }
    }

    pub(super) fn faults_of_items<'v>(
        &self,
        validator: &Validator,
        spot: &Spot<'_, 'v>,
        run: &mut Run,
        out: &mut Faults<'v>,
    ) {
        let Value::Array(items) = spot.value else { return };
        if self.rest == Rest::Allowed {
            return;
        }
        let marks = self.marks(validator, spot.value, items.len(), run);
        let left = items.iter().zip(&marks).filter(|(_, marked)| !**marked);
        let unexpected: Vec<String> = left
            .filter(|(item, _)| !self.allows(validator, item, run))
            .map(|(item, _)| shorten(&item.to_string()))
            .take(100)
            .collect();
        if !unexpected.is_empty() {
            out.say(spot, "unevaluatedItems", Kind::Unevaluated(unexpected));
        }
    }
}

impl Validator {
    /// Marks the parts that a schema evaluates. The value must match the schema.
    fn mark(&self, id: NodeId, value: &Value, marks: &mut [bool], run: &mut Run) {
        let node = &self.nodes[id.index()];
        if node.keywords.is_empty() || !run.enter() {
            return;
        }
        run.charge(marks.len());
        if let Some(entered) = run.watch(id, node, value) {
            for keyword in &node.keywords {
                keyword.mark(self, value, marks, run);
            }
            run.unwatch(&entered);
        }
        run.leave();
    }
}

impl Keyword {
    fn mark(&self, validator: &Validator, value: &Value, marks: &mut [bool], run: &mut Run) {
        match (self, value) {
            (Self::Objects(objects), Value::Object(members)) => {
                let mut next = 0;
                for ((name, _), mark) in members.iter().zip(marks.iter_mut()) {
                    *mark = *mark
                        || objects.rest != Rest::Unsaid
                        || objects.position(name, &mut next).is_some()
                        || objects.patterns.iter().any(|(pattern, _)| pattern.matches(name, run));
                }
                if let Some(seldom) = &objects.seldom {
                    for node in seldom.dependent(members, run) {
                        validator.mark(node, value, marks, run);
                    }
                }
            }
            (Self::Arrays(arrays), Value::Array(items)) => {
                let first = arrays.first.len();
                for (i, (item, mark)) in items.iter().zip(marks.iter_mut()).enumerate() {
                    let found = arrays.contains.as_ref().filter(|contains| contains.evaluates);
                    *mark = *mark
                        || i < first
                        || arrays.rest != Rest::Unsaid
                        || found.is_some_and(|contains| validator.fits(contains.node, item, run));
                }
            }
            (Self::AllOf(all), _) => {
                all.iter().for_each(|one| validator.mark(*one, value, marks, run));
            }
            (Self::AnyOf(branches) | Self::OneOf(branches), _) => {
                for branch in branches {
                    if validator.fits(*branch, value, run) {
                        validator.mark(*branch, value, marks, run);
                    }
                }
            }
            (Self::If(condition), _) => {
                if validator.fits(condition.test, value, run) {
                    validator.mark(condition.test, value, marks, run);
                }
                if let Some(node) = condition.chosen(validator, value, run) {
                    validator.mark(node, value, marks, run);
                }
            }
            (Self::UnevaluatedProperties(_), Value::Object(_))
            | (Self::UnevaluatedItems(_), Value::Array(_)) => marks.fill(true),
            (Self::Ref(node), _) => validator.mark(*node, value, marks, run),
            (Self::Dynamic(dynamic), _) => {
                validator.mark(dynamic.target(validator, run), value, marks, run);
            }
            _ => {}
        }
    }
}

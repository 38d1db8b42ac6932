//! Schemas for the same value: `anyOf`, `oneOf`, `if`.

use serde_json::Value;

use super::Validator;
use super::failure::{Failure, Faults, Kind, Spot};
use super::node::NodeId;
use super::run::Run;

/// `if`, `then` and `else`.
pub(super) struct Condition {
    pub(super) test: NodeId,
    pub(super) then: Option<NodeId>,
    pub(super) otherwise: Option<NodeId>,
}

impl Condition {
    pub(super) fn lead(&mut self, show: &mut dyn FnMut(&mut NodeId, bool)) {
        show(&mut self.test, true);
        self.then.iter_mut().chain(&mut self.otherwise).for_each(|node| show(node, true));
    }

    /// Returns the branch that applies to a value, if there is one.
    pub(super) fn chosen(
        &self,
        validator: &Validator,
        value: &Value,
        run: &mut Run,
    ) -> Option<NodeId> {
        if validator.fits(self.test, value, run) { self.then } else { self.otherwise }
    }

    pub(super) fn fits(&self, validator: &Validator, value: &Value, run: &mut Run) -> bool {
        self.chosen(validator, value, run).is_none_or(|node| validator.fits(node, value, run))
    }

    pub(super) fn faults<'v>(
        &self,
        validator: &Validator,
        spot: &Spot<'_, 'v>,
        run: &mut Run,
        out: &mut Faults<'v>,
    ) {
        if let Some(node) = self.chosen(validator, spot.value, run) {
            validator.faults(node, spot.value, spot.at, run, out);
        }
    }
}

pub(super) fn exactly_one(
    validator: &Validator,
    branches: &[NodeId],
    value: &Value,
    run: &mut Run,
) -> bool {
    let mut fitting = branches.iter().filter(|branch| validator.fits(**branch, value, run));
    fitting.next().is_some() && fitting.next().is_none()
}

pub(super) fn faults_of_any<'v>(
    validator: &Validator,
    branches: &[NodeId],
    spot: &Spot<'_, 'v>,
    run: &mut Run,
    out: &mut Faults<'v>,
) {
    if !branches.iter().any(|branch| validator.fits(*branch, spot.value, run)) {
        let context = faults_of_each(validator, branches, spot, run);
        out.say(spot, "anyOf", Kind::NoAlternative(context));
    }
}

pub(super) fn faults_of_one<'v>(
    validator: &Validator,
    branches: &[NodeId],
    spot: &Spot<'_, 'v>,
    run: &mut Run,
    out: &mut Faults<'v>,
) {
    let mut fitting = branches.iter().filter(|branch| validator.fits(**branch, spot.value, run));
    match (fitting.next(), fitting.next()) {
        (None, _) => {
            let context = faults_of_each(validator, branches, spot, run);
            out.say(spot, "oneOf", Kind::NoAlternative(context));
        }
        (Some(_), None) => {}
        (Some(_), Some(_)) => out.say(spot, "oneOf", Kind::SeveralAlternatives),
    }
}

fn faults_of_each<'v>(
    validator: &Validator,
    branches: &[NodeId],
    spot: &Spot<'_, 'v>,
    run: &mut Run,
) -> Vec<Vec<Failure<'v>>> {
    branches
        .iter()
        .map(|branch| {
            let mut faults = Faults::new(run);
            validator.faults(*branch, spot.value, spot.at, run, &mut faults);
            run.failures = run.failures.saturating_sub(faults.list.len());
            faults.list
        })
        .collect()
}

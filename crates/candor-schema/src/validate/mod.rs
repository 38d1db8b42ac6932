//! Compiles a JSON Schema into numbered nodes, and checks values without allocating.
//!
//! **Compiling** ([`compile`]): the document is walked once ([`document`]). Each schema in it gets a number, whether it is in
//! a property, under `$defs`, or found by a reference later. Then each becomes a [`node::Node`]: the types that it admits, and
//! its other keywords ([`strings`], [`numbers`], [`arrays`], [`objects`], [`options`], [`applicators`], [`refs`],
//! [`unevaluated`]). A reference is the number of its target, so a circle costs nothing, and a schema that is only a reference
//! vanishes. The shape of each keyword is checked on the way ([`shape`]).
//!
//! **Checking** has two passes. [`Validator::fits`] answers yes or no and stops at the first no. Only then,
//! [`Validator::failures`] goes through everything once more and lists what is wrong, in a fixed order. It returns places in
//! the document instead of limits and options, because the code that explains them has the document.
//!
//! **Cost.** Each check has a budget of steps and a limit of depth ([`run`]). If a check runs out, the answer is no: what
//! cannot be checked does not pass. Compiling finds the schemas that can come back to themselves at the same value
//! ([`circles`]). Only for them, the check looks whether it is already checking the same schema and value. If so, it answers
//! yes, because nothing contradicts it.

mod applicators;
mod arrays;
mod backtrack;
mod circles;
mod compile;
mod document;
mod draft;
mod failure;
mod formats;
#[cfg(test)]
mod hostile;
mod names;
mod node;
mod numbers;
mod objects;
mod options;
mod patterns;
mod places;
mod reader;
mod references;
mod refs;
mod run;
mod seldom;
mod shape;
mod strings;
mod translate;
mod types;
mod unevaluated;
mod uri;

use serde_json::Value;

pub(crate) use draft::Draft;
pub(crate) use failure::{Failure, Kind};
pub use references::References;
pub(crate) use shape::whole;

use failure::{Faults, Path, Spot};
use node::{Keyword, Node, NodeId};
use places::Places;
use run::Run;

/// A compiled schema.
pub(crate) struct Validator {
    nodes: Box<[Node]>,
    places: Places,
    root: NodeId,
    /// The anchors that dynamic references look for, by resource.
    anchors: refs::Anchors,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckResult {
    Fits,
    Fails,
    /// Undecided: the check was given up.
    TooCostly,
}

impl Validator {
    /// Compiles a document. The error names the wrong keyword and its place.
    pub(crate) fn compile(document: &Value, draft: Draft) -> Result<Self, String> {
        compile::compile(document, draft)
    }

    /// Checks whether the schema accepts a value.
    pub(crate) fn check(&self, value: &Value) -> CheckResult {
        self.verdict(value, &mut Run::new())
    }

    fn verdict(&self, value: &Value, run: &mut Run) -> CheckResult {
        match self.fits(self.root, value, run) {
            _ if run.is_spent() => CheckResult::TooCostly,
            true => CheckResult::Fits,
            false => CheckResult::Fails,
        }
    }

    /// Returns what is wrong with a value. The list is empty only if the schema accepts the value, or if the check is too costly.
    pub(crate) fn failures<'v>(&self, value: &'v Value) -> Vec<Failure<'v>> {
        let mut run = Run::new();
        let mut out = Faults::new(&run);
        self.faults(self.root, value, &Path::Whole, &mut run, &mut out);
        out.list
    }

    /// Returns the JSON Pointer of a schema in its document.
    pub(crate) fn place(&self, node: NodeId) -> String {
        self.places.pointer(node)
    }

    #[inline]
    fn fits(&self, id: NodeId, value: &Value, run: &mut Run) -> bool {
        let node = &self.nodes[id.index()];
        node.types.admit(value)
            && (node.keywords.is_empty() || self.fits_keywords(id, node, value, run))
    }

    fn fits_keywords(&self, id: NodeId, node: &Node, value: &Value, run: &mut Run) -> bool {
        if !run.enter() {
            return false;
        }
        let fits = if node.circular || node.scoped {
            match run.watch(id, node, value) {
                Some(entered) => {
                    let fits = node.keywords.iter().all(|keyword| keyword.fits(self, value, run));
                    run.unwatch(&entered);
                    fits
                }
                None => true,
            }
        } else {
            node.keywords.iter().all(|keyword| keyword.fits(self, value, run))
        };
        run.leave();
        fits
    }

    fn faults<'v>(
        &self,
        id: NodeId,
        value: &'v Value,
        at: &Path<'_>,
        run: &mut Run,
        out: &mut Faults<'v>,
    ) {
        let node = &self.nodes[id.index()];
        let spot = Spot { node: id, value, at };
        if !node.types.admit(value) {
            out.plain(&spot, "type");
        }
        if node.keywords.is_empty() || out.is_full() || !run.enter() {
            return;
        }
        if let Some(entered) = run.watch(id, node, value) {
            for keyword in &node.keywords {
                keyword.faults(self, &spot, run, out);
            }
            run.unwatch(&entered);
        }
        run.leave();
    }
}

impl Keyword {
    #[inline]
    fn fits(&self, validator: &Validator, value: &Value, run: &mut Run) -> bool {
        match (self, value) {
            (Self::Never, _) => false,
            (Self::Const(options) | Self::Enum(options), _) => options.hold(value, run),
            (Self::Numbers(numbers), Value::Number(number)) => numbers.fit(number),
            (Self::Strings(strings), Value::String(text)) => strings.fit(text, run),
            (Self::Arrays(arrays), Value::Array(items)) => arrays.fit(validator, items, run),
            (Self::Objects(objects), Value::Object(members)) => {
                objects.fit(validator, value, members, run)
            }
            (Self::AllOf(all), _) => all.iter().all(|one| validator.fits(*one, value, run)),
            (Self::AnyOf(any), _) => any.iter().any(|one| validator.fits(*one, value, run)),
            (Self::OneOf(one), _) => applicators::exactly_one(validator, one, value, run),
            (Self::Not(node), _) => !validator.fits(*node, value, run),
            (Self::If(condition), _) => condition.fits(validator, value, run),
            (Self::UnevaluatedProperties(rest), Value::Object(members)) => {
                rest.members_fit(validator, value, members, run)
            }
            (Self::UnevaluatedItems(rest), Value::Array(items)) => {
                rest.items_fit(validator, value, items, run)
            }
            // These keywords are for values of other types.
            (
                Self::Numbers(_)
                | Self::Strings(_)
                | Self::Arrays(_)
                | Self::Objects(_)
                | Self::UnevaluatedProperties(_)
                | Self::UnevaluatedItems(_),
                _,
            ) => true,
            (Self::Ref(node), _) => validator.fits(*node, value, run),
            (Self::Dynamic(dynamic), _) => {
                validator.fits(dynamic.target(validator, run), value, run)
            }
        }
    }

    fn faults<'v>(
        &self,
        validator: &Validator,
        spot: &Spot<'_, 'v>,
        run: &mut Run,
        out: &mut Faults<'v>,
    ) {
        let value = spot.value;
        match self {
            Self::Never => out.plain(spot, "false"),
            Self::Const(options) if !options.hold(value, run) => out.plain(spot, "const"),
            Self::Enum(options) if !options.hold(value, run) => out.plain(spot, "enum"),
            Self::Numbers(numbers) => numbers.faults(spot, out),
            Self::Strings(strings) => strings.faults(spot, run, out),
            Self::Arrays(arrays) => arrays.faults(validator, spot, run, out),
            Self::Objects(objects) => objects.faults(validator, spot, run, out),
            Self::AllOf(all) => {
                for one in all {
                    validator.faults(*one, value, spot.at, run, out);
                }
            }
            Self::AnyOf(any) => applicators::faults_of_any(validator, any, spot, run, out),
            Self::OneOf(one) => applicators::faults_of_one(validator, one, spot, run, out),
            Self::Not(node) if validator.fits(*node, value, run) => out.plain(spot, "not"),
            Self::Const(_) | Self::Enum(_) | Self::Not(_) => {}
            Self::If(condition) => condition.faults(validator, spot, run, out),
            Self::UnevaluatedProperties(rest) => rest.faults_of_members(validator, spot, run, out),
            Self::UnevaluatedItems(rest) => rest.faults_of_items(validator, spot, run, out),
            Self::Ref(node) => validator.faults(*node, value, spot.at, run, out),
            Self::Dynamic(dynamic) => {
                let target = dynamic.target(validator, run);
                validator.faults(target, value, spot.at, run, out);
            }
        }
    }
}

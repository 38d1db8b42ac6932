//! Failures as facts: the place, the schema and its keyword, and what an explanation needs beyond the document.

use std::borrow::Cow;

use serde_json::Value;

use super::node::NodeId;
use super::run::Run;
use crate::violation::below;

/// Maximum number of failures to collect for one schema or alternative. Explanations list twenty, but drop duplicates.
const COLLECTED: usize = 100;

/// One keyword that a value does not satisfy.
#[derive(Debug, Clone)]
pub(crate) struct Failure<'v> {
    /// JSON Pointer of the value.
    pub(crate) at: String,
    /// The schema that holds the keyword.
    pub(crate) node: NodeId,
    pub(crate) keyword: &'static str,
    pub(crate) value: Cow<'v, Value>,
    pub(crate) kind: Kind<'v>,
}

/// Details beyond the keyword. Limits, patterns and options are in the document.
#[derive(Debug, Clone)]
pub(crate) enum Kind<'v> {
    /// The keyword is enough.
    Plain,
    /// Draft 4: the bound itself is excluded.
    Exclusive,
    /// Members that are missing.
    Missing(Vec<String>),
    /// Members that are not known.
    Unknown(Vec<String>),
    /// Items that no keyword covers, as text.
    Unevaluated(Vec<String>),
    /// The failure of a name.
    Name(Box<Failure<'static>>),
    /// The failures of each alternative.
    NoAlternative(Vec<Vec<Failure<'v>>>),
    SeveralAlternatives,
}

impl Failure<'_> {
    /// Returns the failure with its own copy of the value, for a value that does not live long enough.
    fn detached(self) -> Failure<'static> {
        let kind = match self.kind {
            // The explanation of a name ignores alternatives.
            Kind::NoAlternative(_) => Kind::NoAlternative(Vec::new()),
            Kind::Plain => Kind::Plain,
            Kind::Exclusive => Kind::Exclusive,
            Kind::Missing(names) => Kind::Missing(names),
            Kind::Unknown(names) => Kind::Unknown(names),
            Kind::Unevaluated(items) => Kind::Unevaluated(items),
            Kind::Name(inner) => Kind::Name(inner),
            Kind::SeveralAlternatives => Kind::SeveralAlternatives,
        };
        let value = Cow::Owned(self.value.into_owned());
        Failure { at: self.at, node: self.node, keyword: self.keyword, value, kind }
    }
}

/// The path from the whole value to a part of it. It becomes text only if something is wrong there.
#[derive(Clone, Copy)]
pub(super) enum Path<'p> {
    Whole,
    Member(&'p Path<'p>, &'p str),
    Item(&'p Path<'p>, usize),
}

impl Path<'_> {
    fn pointer(&self) -> String {
        match self {
            Self::Whole => String::new(),
            Self::Member(parent, name) => below(&parent.pointer(), name),
            Self::Item(parent, index) => format!("{}/{index}", parent.pointer()),
        }
    }
}

/// A schema, and the value that it checks.
#[derive(Clone, Copy)]
pub(super) struct Spot<'s, 'v> {
    pub(super) node: NodeId,
    pub(super) value: &'v Value,
    pub(super) at: &'s Path<'s>,
}

/// A list of failures, up to a limit.
pub(super) struct Faults<'v> {
    pub(super) list: Vec<Failure<'v>>,
    room: usize,
}

impl<'v> Faults<'v> {
    pub(super) fn new(run: &Run) -> Self {
        Self { list: Vec::new(), room: run.failures.min(COLLECTED) }
    }

    pub(super) fn is_full(&self) -> bool {
        self.list.len() >= self.room
    }

    /// Adds a failure without details.
    pub(super) fn plain(&mut self, spot: &Spot<'_, 'v>, keyword: &'static str) {
        self.say(spot, keyword, Kind::Plain);
    }

    pub(super) fn say(&mut self, spot: &Spot<'_, 'v>, keyword: &'static str, kind: Kind<'v>) {
        if !self.is_full() {
            let (at, node, value) = (spot.at.pointer(), spot.node, Cow::Borrowed(spot.value));
            self.list.push(Failure { at, node, keyword, value, kind });
        }
    }

    /// Adds the failures of a member's name.
    pub(super) fn say_of_name(&mut self, spot: &Spot<'_, 'v>, name: Faults<'_>) {
        for failure in name.list {
            let kind = Kind::Name(Box::new(failure.detached()));
            self.say(spot, "propertyNames", kind);
        }
    }
}

//! What does not fit, as facts: where, which keyword of which schema, and what the words need beyond the document.

use std::borrow::Cow;

use serde_json::Value;

use super::node::NodeId;
use super::run::Run;
use crate::violation::below;

/// Failures of one schema, or of one alternative, that are collected. Twenty are told at most, but some of them twice.
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

/// What there is to say beyond the keyword. Limits, patterns and options stand in the document.
#[derive(Debug, Clone)]
pub(crate) enum Kind<'v> {
    /// The keyword says it all.
    Plain,
    /// Draft 4: the bound itself does not count.
    Exclusive,
    /// Members that are missing.
    Missing(Vec<String>),
    /// Members that are not known.
    Unknown(Vec<String>),
    /// Items that nothing speaks of, as texts.
    Unevaluated(Vec<String>),
    /// What is wrong with a name.
    Name(Box<Failure<'static>>),
    /// What is wrong with each alternative.
    NoAlternative(Vec<Vec<Failure<'v>>>),
    SeveralAlternatives,
}

impl Failure<'_> {
    /// A failure of a value that will be gone.
    fn detached(self) -> Failure<'static> {
        let kind = match self.kind {
            // What is said of a name does not look into alternatives.
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

/// The way from the whole value to a part of it, written only if something is wrong there.
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

/// A schema and the value that it is asked about.
#[derive(Clone, Copy)]
pub(super) struct Spot<'s, 'v> {
    pub(super) node: NodeId,
    pub(super) value: &'v Value,
    pub(super) at: &'s Path<'s>,
}

/// Collects failures, as many as can be of use.
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

    /// A keyword that says it all.
    pub(super) fn plain(&mut self, spot: &Spot<'_, 'v>, keyword: &'static str) {
        self.say(spot, keyword, Kind::Plain);
    }

    pub(super) fn say(&mut self, spot: &Spot<'_, 'v>, keyword: &'static str, kind: Kind<'v>) {
        if !self.is_full() {
            let (at, node, value) = (spot.at.pointer(), spot.node, Cow::Borrowed(spot.value));
            self.list.push(Failure { at, node, keyword, value, kind });
        }
    }

    /// Says what is wrong with the name of a member.
    pub(super) fn say_of_name(&mut self, spot: &Spot<'_, 'v>, name: Faults<'_>) {
        for failure in name.list {
            let kind = Kind::Name(Box::new(failure.detached()));
            self.say(spot, "propertyNames", kind);
        }
    }
}

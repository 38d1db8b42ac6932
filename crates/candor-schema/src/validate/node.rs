//! A compiled schema: the types that it admits, and its other keywords.

use super::applicators::Condition;
use super::arrays::Arrays;
use super::numbers::Numbers;
use super::objects::Objects;
use super::options::Options;
use super::refs::Dynamic;
use super::strings::Strings;
use super::types::Types;
use super::unevaluated::Unevaluated;

/// The number of a schema in its document. References are numbers, too, so circles need no special care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(u32);

impl NodeId {
    /// The whole document.
    pub(super) const ROOT: Self = Self(0);

    pub(super) fn new(index: usize) -> Self {
        // A document of at most a megabyte has fewer schemas than this.
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    #[inline]
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// One schema.
pub(super) struct Node {
    pub(super) types: Types,
    /// A check can come back to this schema without going deeper into the value.
    pub(super) circular: bool,
    /// The document has dynamic references, so the check must record which resource it enters.
    pub(super) scoped: bool,
    pub(super) resource: u32,
    /// In the order in which failures are reported.
    pub(super) keywords: Box<[Keyword]>,
}

/// A keyword other than `type`. The keywords for one type of values are combined.
pub(super) enum Keyword {
    /// The schema `false`.
    Never,
    Const(Box<Options>),
    Enum(Box<Options>),
    Numbers(Box<Numbers>),
    Strings(Box<Strings>),
    Arrays(Box<Arrays>),
    Objects(Box<Objects>),
    AllOf(Box<[NodeId]>),
    AnyOf(Box<[NodeId]>),
    OneOf(Box<[NodeId]>),
    Not(NodeId),
    If(Box<Condition>),
    UnevaluatedProperties(Unevaluated),
    UnevaluatedItems(Unevaluated),
    Ref(NodeId),
    Dynamic(Dynamic),
}

/// What applies to members or items that nothing else covers.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// No keyword applies, so they are not even evaluated.
    #[default]
    Unsaid,
    Allowed,
    Forbidden,
    Schema(NodeId),
}

impl Keyword {
    /// Shows every schema that this keyword leads to, and whether it applies to the same value.
    pub(super) fn lead(&mut self, show: &mut dyn FnMut(&mut NodeId, bool)) {
        match self {
            Self::Never | Self::Const(_) | Self::Enum(_) | Self::Numbers(_) | Self::Strings(_) => {}
            Self::Arrays(arrays) => arrays.lead(&mut |node| show(node, false)),
            Self::Objects(objects) => objects.lead(show),
            Self::AllOf(branches) | Self::AnyOf(branches) | Self::OneOf(branches) => {
                branches.iter_mut().for_each(|branch| show(branch, true));
            }
            Self::Not(node) | Self::Ref(node) => show(node, true),
            Self::If(condition) => condition.lead(show),
            Self::UnevaluatedProperties(rest) | Self::UnevaluatedItems(rest) => {
                rest.rest.lead(&mut |node| show(node, false));
            }
            Self::Dynamic(dynamic) => show(&mut dynamic.plain, true),
        }
    }
}

impl Rest {
    pub(super) fn lead(&mut self, show: &mut dyn FnMut(&mut NodeId)) {
        if let Self::Schema(node) = self {
            show(node);
        }
    }
}

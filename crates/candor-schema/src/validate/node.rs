//! A schema as it is checked: the types that it admits, and what else it asks for.

use super::applicators::Condition;
use super::arrays::Arrays;
use super::numbers::Numbers;
use super::objects::Objects;
use super::options::Options;
use super::refs::Dynamic;
use super::strings::Strings;
use super::types::Types;
use super::unevaluated::Unevaluated;

/// The number of a schema in its document. References are numbers too, so circles need no care.
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
    /// It can come back to itself without going deeper into the value.
    pub(super) circular: bool,
    /// Entering it may enter another resource, and a dynamic reference will want to know.
    pub(super) scoped: bool,
    pub(super) resource: u32,
    /// In the order in which failures are told.
    pub(super) keywords: Box<[Keyword]>,
}

/// What a schema asks for beside a type; keywords for values of one type are one.
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

/// What holds for members or items that nothing else speaks of.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// Nothing is said: they are not even evaluated.
    #[default]
    Unsaid,
    Allowed,
    Forbidden,
    Schema(NodeId),
}

impl Keyword {
    /// Shows every schema that this one leads to, and whether it is for the very same value.
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

//! What an author declares about a tool besides its effect: undo, preview, rate limit and serial group. It is declared once; the
//! description, the checks and the refusals follow from it.

use std::fmt;
use std::sync::Arc;

pub use candor_protocol::names::argument::PLAN_TOKEN as PLAN_ARGUMENT;

use super::Tool;
use crate::capacity::RateLimit;

/// What an author declares about a tool besides its effect.
///
/// ```
/// use candor_server::tool::{RateLimit, Safeguards, Sentence};
///
/// let declared = Safeguards::new().undo("restore_file").rate(RateLimit::per_minute(10)).omit([Sentence::Retry]);
/// ```
#[derive(Clone, Default)]
pub struct Safeguards {
    pub(crate) undo: Option<String>,
    pub(crate) instead: Option<String>,
    pub(crate) rate: Option<RateLimit>,
    pub(crate) serial: Option<String>,
    pub(crate) preview: Option<Preview>,
    pub(crate) requires_preview: bool,
    omit: Vec<Sentence>,
}

/// Where a tool's preview comes from.
#[derive(Clone)]
pub(crate) enum Preview {
    /// It is made with the tool, and listed after it as `preview_<name>`.
    Made(Arc<dyn Tool>),
    /// It is a tool of its own.
    Named(String),
}

/// A sentence that a declaration adds to a tool's description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Sentence {
    /// Which tool shows what would change.
    Preview,
    /// How it is undone, or that it cannot be.
    Undo,
    /// Which tool to prefer.
    Instead,
    /// Whether it is safe to retry.
    Retry,
    /// That it needs approval.
    Approval,
    /// How often it may be called.
    Rate,
}

impl Sentence {
    /// All sentences, in the order in which a description has them.
    pub const ALL: [Self; 6] =
        [Self::Preview, Self::Undo, Self::Instead, Self::Retry, Self::Approval, Self::Rate];
}

impl Safeguards {
    /// Returns safeguards without any declaration.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the tool that undoes a call. It must be in the same set.
    #[must_use]
    pub fn undo(mut self, tool: impl Into<String>) -> Self {
        self.undo = Some(tool.into());
        self
    }

    /// Names a less harmful tool, to be preferred if it is sufficient. It must be in the same set.
    #[must_use]
    pub fn instead(mut self, tool: impl Into<String>) -> Self {
        self.instead = Some(tool.into());
        self
    }

    /// Limits how often one caller may call it, in this process.
    #[must_use]
    pub fn rate(mut self, rate: RateLimit) -> Self {
        self.rate = Some(rate);
        self
    }

    /// Adds the tool to a serial group. Calls of one group that are not read-only run one at a time, in the order in which they
    /// arrived, in this process.
    #[must_use]
    pub fn serial(mut self, group: impl Into<String>) -> Self {
        self.serial = Some(group.into());
        self
    }

    /// Adds a tool that shows what a call would do. It gets the name, the schema and the read-only hint of a preview.
    #[must_use]
    pub fn preview(mut self, tool: Arc<dyn Tool>) -> Self {
        self.preview = Some(Preview::Made(tool));
        self
    }

    /// Names the tool that shows what a call would do. It must be read-only, take the same arguments, and be in the same set.
    #[must_use]
    pub fn previewed_by(mut self, tool: impl Into<String>) -> Self {
        self.preview = Some(Preview::Named(tool.into()));
        self
    }

    /// Requires the token of a fresh preview for calls that are not read-only.
    #[must_use]
    pub fn requires_preview(mut self) -> Self {
        self.requires_preview = true;
        self
    }

    /// Omits generated sentences that the author's own text already contains.
    #[must_use]
    pub fn omit(mut self, sentences: impl IntoIterator<Item = Sentence>) -> Self {
        self.omit.extend(sentences);
        self
    }

    pub(crate) fn says(&self, sentence: Sentence) -> bool {
        !self.omit.contains(&sentence)
    }

    /// Returns the name of the preview of a tool with this name.
    pub(crate) fn preview_name(&self, tool: &str) -> Option<String> {
        self.preview.as_ref().map(|preview| match preview {
            Preview::Made(_) => format!("preview_{tool}"),
            Preview::Named(name) => name.clone(),
        })
    }
}

impl fmt::Debug for Safeguards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Safeguards")
            .field("undo", &self.undo)
            .field("instead", &self.instead)
            .field("rate", &self.rate)
            .field("serial", &self.serial)
            .field("preview", &self.preview_name("…"))
            .field("requires_preview", &self.requires_preview)
            .field("omit", &self.omit)
            .finish()
    }
}

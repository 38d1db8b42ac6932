//! What an author declares about a tool beside what it does: how it is undone, how often and in which order it may be called,
//! and what shows its effects before they happen. Declared once; the description, the checks and the refusals come of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use candor_protocol::names::argument::PLAN_TOKEN as PLAN_ARGUMENT;

use super::Tool;

/// What an author declares about a tool beside what it does.
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
    /// Which tool may be the better one.
    Instead,
    /// Whether it is safe to retry.
    Retry,
    /// That a person must approve.
    Approval,
    /// How often it may be called.
    Rate,
}

impl Sentence {
    /// All of them, in the order in which they are said.
    pub const ALL: [Self; 6] =
        [Self::Preview, Self::Undo, Self::Instead, Self::Retry, Self::Approval, Self::Rate];
}

impl Safeguards {
    /// Nothing declared.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the tool that takes a call back. It must stand in the same set.
    #[must_use]
    pub fn undo(mut self, tool: impl Into<String>) -> Self {
        self.undo = Some(tool.into());
        self
    }

    /// Names the tool that does less harm, where it will do. It must stand in the same set.
    #[must_use]
    pub fn instead(mut self, tool: impl Into<String>) -> Self {
        self.instead = Some(tool.into());
        self
    }

    /// How often one caller may call it, in this process.
    #[must_use]
    pub fn rate(mut self, rate: RateLimit) -> Self {
        self.rate = Some(rate);
        self
    }

    /// Calls of tools of one group that are not read-only run one after another, in the order in which they came, in this
    /// process.
    #[must_use]
    pub fn serial(mut self, group: impl Into<String>) -> Self {
        self.serial = Some(group.into());
        self
    }

    /// A tool that shows what a call would do. It gets the name, the schema and the read-only hint of a preview.
    #[must_use]
    pub fn preview(mut self, tool: Arc<dyn Tool>) -> Self {
        self.preview = Some(Preview::Made(tool));
        self
    }

    /// Names the tool that shows what a call would do: read-only, with the same arguments, in the same set.
    #[must_use]
    pub fn previewed_by(mut self, tool: impl Into<String>) -> Self {
        self.preview = Some(Preview::Named(tool.into()));
        self
    }

    /// A call that is not read-only needs the token of a fresh preview.
    #[must_use]
    pub fn requires_preview(mut self) -> Self {
        self.requires_preview = true;
        self
    }

    /// Sentences that are not added to the description, because the author's own text says it.
    #[must_use]
    pub fn omit(mut self, sentences: impl IntoIterator<Item = Sentence>) -> Self {
        self.omit.extend(sentences);
        self
    }

    pub(crate) fn says(&self, sentence: Sentence) -> bool {
        !self.omit.contains(&sentence)
    }

    /// The name of the preview of a tool of this name.
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

/// How many calls in which time: never more in any stretch of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    calls: u32,
    unit: Unit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Second,
    Minute,
    Hour,
    Day,
}

impl RateLimit {
    /// The most calls that a rate can allow: each of them is remembered for its time.
    pub const MOST: u32 = 1000;

    /// So many calls in a second.
    ///
    /// # Panics
    /// If it is none, or more than [`RateLimit::MOST`]; so do the others.
    #[must_use]
    pub const fn per_second(calls: u32) -> Self {
        Self::new(calls, Unit::Second)
    }

    /// So many calls in a minute.
    #[must_use]
    pub const fn per_minute(calls: u32) -> Self {
        Self::new(calls, Unit::Minute)
    }

    /// So many calls in an hour.
    #[must_use]
    pub const fn per_hour(calls: u32) -> Self {
        Self::new(calls, Unit::Hour)
    }

    /// So many calls in a day.
    #[must_use]
    pub const fn per_day(calls: u32) -> Self {
        Self::new(calls, Unit::Day)
    }

    const fn new(calls: u32, unit: Unit) -> Self {
        assert!(calls > 0 && calls <= Self::MOST, "a rate allows 1 to 1000 calls");
        Self { calls, unit }
    }

    pub(crate) const fn calls(self) -> usize {
        self.calls as usize
    }

    pub(crate) const fn time(self) -> Duration {
        Duration::from_secs(match self.unit {
            Unit::Second => 1,
            Unit::Minute => 60,
            Unit::Hour => 60 * 60,
            Unit::Day => 24 * 60 * 60,
        })
    }
}

impl fmt::Display for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = if self.calls == 1 { "call" } else { "calls" };
        let unit = match self.unit {
            Unit::Second => "second",
            Unit::Minute => "minute",
            Unit::Hour => "hour",
            Unit::Day => "day",
        };
        write!(f, "{} {calls} per {unit}", self.calls)
    }
}

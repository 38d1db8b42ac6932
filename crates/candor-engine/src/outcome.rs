//! What a call ends with.

use candor_hints::Hints;
use candor_ledger::Moment;
use candor_protocol::json::Object;
use candor_protocol::types::CallToolResult;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::ctx::round::{PendingQuestions, Questions, ResumePoint};
use crate::display::when;
use crate::error::{Refusal, ToolError};

/// What a call ends with, and what is known of the call.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// What the call ends with.
    pub end: CallEnd,
    /// The hints of this call, if the tool's effect depends on its arguments and the call was evaluated.
    pub effect: Option<Hints>,
    /// Whether the tool's results are in a box of one field.
    pub boxed: bool,
    /// Whether the call started with an approval.
    pub approved: bool,
}

impl Outcome {
    pub(crate) fn refused(refusal: Refusal) -> Self {
        Self { end: CallEnd::Refused(refusal), effect: None, boxed: false, approved: false }
    }
}

/// What a call ends with.
#[derive(Debug)]
pub enum CallEnd {
    /// The call ran. A tool that fails has a result, too.
    Done {
        /// The result.
        result: CallToolResult,
        /// What the ledger has of it, if it has a record.
        note: Option<RecordNote>,
        /// The server's own reason, if the failure is not the tool's.
        refusal: Option<Refusal>,
    },
    /// Nothing ran: the call has a stored result.
    Replayed {
        /// The members of the result, as they are stored.
        members: Object,
        /// What the ledger has of it.
        note: RecordNote,
    },
    /// The handler, or the server, asks the caller's client.
    Questions(PendingQuestions),
    /// The handler asked a question that the caller's client cannot answer. Nothing was run before it.
    Unanswerable(ToolError),
    /// Nothing ran, or there is no result of what ran.
    Refused(Refusal),
}

/// What the ledger makes of a call, before questions are sealed.
pub(crate) enum RecordedEnd {
    /// The call ran. A parked call without a record has no note.
    Done {
        result: CallToolResult,
        note: Option<RecordNote>,
        refusal: Option<Refusal>,
    },
    Replayed {
        members: Object,
        note: RecordNote,
    },
    /// Questions, and the point at which their answers resume the call, if it has a record.
    Asks {
        questions: Questions,
        resumes: Option<ResumePoint>,
    },
    Unanswerable(ToolError),
    Refused(Refusal),
}

/// What a result reports about its record.
#[derive(Debug)]
pub struct RecordNote {
    /// The caller's key.
    pub(crate) key: Option<String>,
    pub(crate) attempt: u32,
    pub(crate) origin: ResultOrigin,
}

/// Where a result comes from.
#[derive(Debug)]
pub(crate) enum ResultOrigin {
    /// This attempt made it. `releases`: it failed without harm, so the caller may retry with the same key.
    Now { recorded: bool, releases: bool },
    /// It was stored: by an earlier attempt, or by an operator who resolved the outcome.
    Before { completed: Moment, resolved_by: Option<String> },
}

impl RecordNote {
    /// Returns true if the result comes from an earlier attempt.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        matches!(self.origin, ResultOrigin::Before { .. })
    }
}

impl Serialize for RecordNote {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(key) = &self.key {
            map.serialize_entry("key", key)?;
        }
        map.serialize_entry("replayed", &self.is_replay())?;
        map.serialize_entry("attempt", &self.attempt)?;
        match &self.origin {
            ResultOrigin::Now { recorded, releases } => {
                map.serialize_entry("recorded", recorded)?;
                if *releases {
                    map.serialize_entry("released", recorded)?;
                }
            }
            ResultOrigin::Before { completed, resolved_by } => {
                map.serialize_entry("completedAt", &when::written(*completed))?;
                if let Some(by) = resolved_by {
                    map.serialize_entry("resolvedBy", by)?;
                }
            }
        }
        map.end()
    }
}

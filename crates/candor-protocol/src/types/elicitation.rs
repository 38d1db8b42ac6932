//! Questions to the person behind the client.

use crate::json::{Object, RawValue};
use crate::message::{message, open_enum};

message! {
    /// Parameters of `elicitation/create`: a form.
    pub struct ElicitForm {
        /// What the person reads.
        required message: String = "message",
        /// Flat JSON Schema of the answer.
        required requested_schema: Box<RawValue> = "requestedSchema",
        /// `form`, or absent, which means the same.
        optional mode: String = "mode",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// Parameters of `elicitation/create`: a page to visit.
    pub struct ElicitUrl {
        /// `url`.
        required mode: String = "mode",
        /// What the person reads.
        required message: String = "message",
        /// The page.
        required url: String = "url",
        /// Legacy only: to say later that it was completed.
        optional elicitation_id: String = "elicitationId",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// What the person answered.
    pub struct ElicitResult {
        /// Whether there is an answer.
        required action: ElicitAction = "action",
        /// The answer to a form.
        optional content: Object = "content",
        /// Metadata.
        optional meta: Object = "_meta",
    }
}

open_enum! {
    /// What the person did with a question.
    pub enum ElicitAction {
        /// Answered it.
        Accept = "accept",
        /// Said no.
        Decline = "decline",
        /// Left without an answer.
        Cancel = "cancel",
    }
}

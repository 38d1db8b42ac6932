//! Questions to the client's user.

use crate::json::{Object, RawValue};
use crate::message::{message, open_enum};

message! {
    /// Parameters of `elicitation/create`: a form.
    pub struct ElicitForm {
        /// The text that the user reads.
        required message: String = "message",
        /// Flat JSON Schema of the answers.
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
        /// The text that the user reads.
        required message: String = "message",
        /// The page.
        required url: String = "url",
        /// Legacy only: the id with which the server reports completion later.
        optional elicitation_id: String = "elicitationId",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// The user's answer.
    pub struct ElicitResult {
        /// What the user did.
        required action: ElicitAction = "action",
        /// The answer to a form.
        optional content: Object = "content",
        /// Metadata.
        optional meta: Object = "_meta",
    }
}

open_enum! {
    /// What the user did with a question.
    pub enum ElicitAction {
        /// Answered it.
        Accept = "accept",
        /// Declined it.
        Decline = "decline",
        /// Closed it without an answer.
        Cancel = "cancel",
    }
}

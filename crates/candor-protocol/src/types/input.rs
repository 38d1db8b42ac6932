//! Modern round trips: the server answers with questions, the client asks again with answers.

use std::collections::BTreeMap;

use crate::json::{Object, RawValue};
use crate::message::message;

message! {
    /// A result that is not complete yet.
    pub struct InputRequired {
        /// Questions by key.
        optional input_requests: BTreeMap<String, InputRequest> = "inputRequests",
        /// To be brought back unread.
        optional request_state: String = "requestState",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// One question.
    pub struct InputRequest {
        /// Elicitation, sampling or roots.
        required method: String = "method",
        /// What that method takes.
        optional params: Box<RawValue> = "params",
    }
}

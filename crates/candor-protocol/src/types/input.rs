//! Modern round trips: the server responds with questions, and the client repeats the request with answers.

use std::collections::BTreeMap;

use crate::json::{Object, RawValue};
use crate::message::message;

message! {
    /// A result that is not complete yet.
    pub struct InputRequired {
        /// Questions by key.
        optional input_requests: BTreeMap<String, InputRequest> = "inputRequests",
        /// Opaque state that the client sends back.
        optional request_state: String = "requestState",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// One question.
    pub struct InputRequest {
        /// Elicitation, sampling or roots.
        required method: String = "method",
        /// The parameters of that method.
        optional params: Box<RawValue> = "params",
    }
}

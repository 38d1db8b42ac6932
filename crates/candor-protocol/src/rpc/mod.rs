//! JSON-RPC 2.0 as MCP uses it: envelopes, ids, errors.

mod envelope;
mod error;
mod id;

pub use envelope::{
    Incoming, Notification, Rejected, Request, Response, decode_message, measure_result,
    split_batch, write_error, write_notification, write_request, write_result, write_result_of,
};
pub use error::{ErrorObject, code};
pub use id::RequestId;

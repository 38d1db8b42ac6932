//! JSON-RPC 2.0 as MCP uses it: envelopes, ids, errors.

mod envelope;
mod error;
mod id;

pub use envelope::{
    Incoming, Notification, Rejected, Request, Response, decode_message, split_batch, write_error,
    write_notification, write_request, write_result,
};
pub use error::{ErrorObject, code};
pub use id::RequestId;

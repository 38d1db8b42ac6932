//! Notifications about a running request, and log messages.

use super::common::LogLevel;
use crate::json::{Number, Object, RawValue};
use crate::message::message;
use crate::rpc::RequestId;

message! {
    /// The progress of a request.
    pub struct ProgressParams {
        /// The token from the request.
        required progress_token: RequestId = "progressToken",
        /// Grows with each notification.
        required progress: Number = "progress",
        /// The value of `progress` at the end.
        optional total: Number = "total",
        /// Text for the user.
        optional message: String = "message",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// The sender no longer needs a response to a request.
    pub struct CancelledParams {
        /// The request.
        optional request_id: RequestId = "requestId",
        /// Why.
        optional reason: String = "reason",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// A log message.
    pub struct LogParams {
        /// The severity.
        required level: LogLevel = "level",
        /// What happened.
        required data: Box<RawValue> = "data",
        /// The name of the logger.
        optional logger: String = "logger",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// Parameters of the legacy `logging/setLevel`.
    pub struct SetLevelParams {
        /// The least severe level to send.
        required level: LogLevel = "level",
        /// Metadata.
        optional meta: Object = "_meta",
    }
}

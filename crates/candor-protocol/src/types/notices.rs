//! Small messages about a request under way.

use super::common::LogLevel;
use crate::json::{Number, Object, RawValue};
use crate::message::message;
use crate::rpc::RequestId;

message! {
    /// How far a request has come.
    pub struct ProgressParams {
        /// The token that the request came with.
        required progress_token: RequestId = "progressToken",
        /// Grows with each notification.
        required progress: Number = "progress",
        /// What it grows towards.
        optional total: Number = "total",
        /// For a person.
        optional message: String = "message",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// A request need not be answered any more.
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
        /// How severe.
        required level: LogLevel = "level",
        /// What happened.
        required data: Box<RawValue> = "data",
        /// Who says so.
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

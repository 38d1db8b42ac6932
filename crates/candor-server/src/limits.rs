//! What a peer may take, in one place.

use std::time::Duration;

/// Bounds on what any one peer can make the server hold or do.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one message, on every transport.
    pub message_bytes: usize,
    /// How deep a message may nest.
    pub depth: usize,
    /// Requests of one stdio connection that run at the same time; above it they are answered busy.
    pub stdio_requests: usize,
    /// Legacy sessions over HTTP, in all.
    pub sessions: usize,
    /// How long a legacy session may stay silent.
    pub session_idle: Duration,
    /// How long a question to a legacy client may stay open.
    pub question: Duration,
    /// How long a modern client has to bring a round's state back.
    pub round: Duration,
    /// Events of one legacy stream that are kept for a client to resume from.
    pub stream_events: usize,
    /// Finished legacy streams per session that are kept for the same purpose.
    pub finished_streams: usize,
    /// How long requests may go on after stdin has ended.
    pub drain: Duration,
    /// Quiet time after which an event stream sends a comment, so that nobody in between hangs up.
    pub keep_alive: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 4 * 1024 * 1024,
            depth: candor_protocol::json::DEFAULT_DEPTH,
            stdio_requests: 1024,
            sessions: 10_000,
            session_idle: Duration::from_secs(30 * 60),
            question: Duration::from_secs(10 * 60),
            round: Duration::from_secs(10 * 60),
            stream_events: 1024,
            finished_streams: 32,
            drain: Duration::from_secs(5),
            keep_alive: Duration::from_secs(15),
        }
    }
}

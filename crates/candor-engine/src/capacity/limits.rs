//! Limits on what a peer can make the server hold or do.

use std::time::Duration;

use super::rate_limit::RateLimit;

/// Limits on what one peer can make the server hold or do.
///
/// ```
/// use candor_server::Server;
/// use std::time::Duration;
///
/// let server = Server::new("small", "1.0.0").limits(|limits| {
///     limits.message_bytes = 1024 * 1024;
///     limits.deadline = Duration::from_secs(30);
/// });
/// let engine = server.build()?;
/// # Ok::<(), candor_server::BuildError>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one message, on every transport. Default: 4 MiB.
    pub message_bytes: usize,
    /// The maximum nesting depth of a message. Default: 64.
    pub depth: usize,
    /// How long a handler may run, without the time that it waits for answers from its client. Default: 5 minutes.
    pub deadline: Duration,
    /// How long a retry waits for the result of a running attempt. Default: 30 seconds.
    pub join: Duration,
    /// Calls with a key that run at the same time, with or without a caller that waits. Beyond it, the server answers `busy`, and
    /// nothing is run. If callers are told apart (over HTTP with an authenticator), one caller gets at most half. The one caller of
    /// a stdio server may use all. Default: 1024.
    pub keyed_calls: usize,
    /// How often one caller may ask the server to explain calls. Beyond it, the server answers `busy`, with the time to wait.
    /// `None` means no limit. Default: 1000 times in a second.
    pub foresights: Option<RateLimit>,
    /// Requests of one stdio connection that run at the same time. Beyond it, the server answers `busy`. Default: 1024.
    pub stdio_requests: usize,
    /// HTTP requests that run at the same time, at the MCP endpoint and at a console. Console requests that use the server's tools
    /// or resources count. An operator's pages and decisions do not. Beyond it, the server answers 503. If callers are told apart,
    /// one caller gets at most half, and beyond that the server answers 429. Default: 1024.
    pub http_requests: usize,
    /// Event streams that wait for changes at the same time. One caller's share is as for requests. Default: 1024.
    pub streams: usize,
    /// Resources that are watched at the same time, in all streams and sessions. One stream or session has at most 10,000. One
    /// caller's share is as for requests. Default: 100,000.
    pub watched: usize,
    /// Bytes of all HTTP bodies above 64 KiB that are being read, or whose requests run. Further bodies wait for at most
    /// [`Limits::body_time`]. Then the server answers 503. One caller's share is as for requests. Default: 256 MiB.
    pub body_bytes: usize,
    /// TCP connections. The server closes further ones at once. Default: 4096.
    pub connections: usize,
    /// How long a client may take to send a request's head, or to send the next request. Default: 30 seconds.
    pub head_time: Duration,
    /// How long a client may take to send a request's body. Default: 30 seconds.
    pub body_time: Duration,
    /// Bytes of all HTTP responses above 64 KiB that are being built or are not read yet. A list that is encoded once and shared
    /// does not count. Beyond it, the caller gets an error instead of the response. One caller's share is as for requests. Default:
    /// 256 MiB.
    pub answer_bytes: usize,
    /// How long a client may leave a write to it pending. Default: 30 seconds.
    pub write_time: Duration,
    /// Legacy sessions over HTTP, in total. Default: 10,000.
    pub sessions: usize,
    /// Legacy sessions of one peer. A further session ends the one that was unused for the longest time. Default: 1000.
    pub sessions_per_peer: usize,
    /// How long a legacy session may be idle. Default: 30 minutes.
    pub session_idle: Duration,
    /// How long the server waits for a legacy client's answer to a question. Default: 10 minutes.
    pub question: Duration,
    /// How long a modern client may take to send a round's state back. Default: 10 minutes.
    pub round: Duration,
    /// How long a plan token is valid. Default: 15 minutes.
    pub plan: Duration,
    /// Handlers that wait in this process for the answers to questions that they relay. Beyond it, such a question fails. Default: 256.
    pub parked_calls: usize,
    /// Messages that wait for a client that reads more slowly than a handler sends. Beyond it, the handler waits. Default: 64.
    pub queue: usize,
    /// Events of one legacy stream that are stored so that a client can resume it. Default: 1024.
    pub stream_events: usize,
    /// Bytes of these events, for one stream. Default: 8 MiB.
    pub stream_bytes: usize,
    /// Finished legacy streams per session that are stored so that a client can resume them. Default: 32.
    pub finished_streams: usize,
    /// Bytes of all finished streams, in all sessions. If callers are told apart, one caller gets at most half. A stream without
    /// capacity cannot be resumed. Default: 64 MiB.
    pub finished_bytes: usize,
    /// How long requests may keep running after stdin has ended or the server was stopped. Default: 5 seconds.
    pub drain: Duration,
    /// Quiet time after which an event stream sends a comment, so that no proxy closes the connection. Default: 15 seconds.
    pub keep_alive: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 4 * 1024 * 1024,
            depth: candor_protocol::json::DEFAULT_DEPTH,
            deadline: Duration::from_secs(5 * 60),
            join: Duration::from_secs(30),
            keyed_calls: 1024,
            foresights: Some(RateLimit::per_second(RateLimit::MOST)),
            stdio_requests: 1024,
            http_requests: 1024,
            streams: 1024,
            watched: 100_000,
            body_bytes: 256 * 1024 * 1024,
            answer_bytes: 256 * 1024 * 1024,
            connections: 4096,
            head_time: Duration::from_secs(30),
            body_time: Duration::from_secs(30),
            write_time: Duration::from_secs(30),
            sessions: 10_000,
            sessions_per_peer: 1000,
            session_idle: Duration::from_secs(30 * 60),
            question: Duration::from_secs(10 * 60),
            round: Duration::from_secs(10 * 60),
            plan: Duration::from_secs(15 * 60),
            parked_calls: 256,
            queue: 64,
            stream_events: 1024,
            stream_bytes: 8 * 1024 * 1024,
            finished_streams: 32,
            finished_bytes: 64 * 1024 * 1024,
            drain: Duration::from_secs(5),
            keep_alive: Duration::from_secs(15),
        }
    }
}

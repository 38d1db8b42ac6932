//! What a peer may take, in one place.

use std::time::Duration;

use crate::tool::RateLimit;

/// Bounds on what any one peer can make the server hold or do.
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
    /// How deep a message may nest. Default: 64.
    pub depth: usize,
    /// How long a handler may run, not counting the time that it waits for answers from its client.
    /// Default: 5 minutes.
    pub deadline: Duration,
    /// How long a repetition of a call that runs waits for its result. Default: 30 seconds.
    pub join: Duration,
    /// Calls with a key that run at the same time, with or without a caller who waits; above it they are answered busy, and
    /// nothing was done. Where callers are told apart (over HTTP with an authenticator) one of them may have half of it; the one
    /// caller of a stdio server may have all. Default: 1024.
    pub keyed_calls: usize,
    /// How often one caller may ask what calls would do; above it the questions are answered busy, with the time to wait. `None`:
    /// as often as they like. Default: 1000 times in a second.
    pub foresights: Option<RateLimit>,
    /// Requests of one stdio connection that run at the same time; above it they are answered busy.
    /// Default: 1024.
    pub stdio_requests: usize,
    /// HTTP requests that run at the same time, whichever way they come: to the MCP endpoint, and to a console as far as it asks the
    /// server something and nobody is an operator who looks. Above it they are answered 503. Where callers are known, one of them may have half of it, and
    /// is answered 429 above. Default: 1024.
    pub http_requests: usize,
    /// Event streams that wait for changes at the same time; the same holds of it. Default: 1024.
    pub streams: usize,
    /// Resources that are watched at the same time, in all streams and sessions; one of these has at most 10,000. Of one caller the
    /// same holds as of requests. Default: 100,000.
    pub watched: usize,
    /// Bytes of all HTTP bodies above 64 KiB that are being read, or whose requests run. Further ones wait for it, for as long as
    /// [`Limits::body_time`], and are then answered 503; of one caller the same holds as of requests. Default: 256 MiB.
    pub body_bytes: usize,
    /// TCP connections; above it they are closed at once. Default: 4096.
    pub connections: usize,
    /// How long a client may take to send a request's head, or to send the next request. Default: 30 seconds.
    pub head_time: Duration,
    /// How long a client may take to send a request's body. Default: 30 seconds.
    pub body_time: Duration,
    /// Bytes of all HTTP answers above 64 KiB that have not been read yet; what was written for all who ask does not count. Whose
    /// answer finds no room is told so instead; of one caller the same holds as of requests. Default: 256 MiB.
    pub answer_bytes: usize,
    /// How long a client may refuse to take what is written to it. Default: 30 seconds.
    pub write_time: Duration,
    /// Legacy sessions over HTTP, in all. Default: 10,000.
    pub sessions: usize,
    /// Legacy sessions of one peer; a further one takes the place of the one longest unused. Default: 1000.
    pub sessions_per_peer: usize,
    /// How long a legacy session may stay silent. Default: 30 minutes.
    pub session_idle: Duration,
    /// How long a question to a legacy client may stay open. Default: 10 minutes.
    pub question: Duration,
    /// How long a modern client has to bring a round's state back. Default: 10 minutes.
    pub round: Duration,
    /// How long the token of a preview is good for a call. Default: 15 minutes.
    pub plan: Duration,
    /// Messages that wait for a client who reads slower than a handler speaks; then the handler waits.
    /// Default: 64.
    pub queue: usize,
    /// Events of one legacy stream that are kept for a client to resume from. Default: 1024.
    pub stream_events: usize,
    /// Bytes of the same. Default: 8 MiB.
    pub stream_bytes: usize,
    /// Finished legacy streams per session that are kept for the same purpose. Default: 32.
    pub finished_streams: usize,
    /// Bytes of all of them, in all sessions, half of it for one principal. What finds no room cannot be resumed. Default: 64 MiB.
    pub finished_bytes: usize,
    /// How long requests may go on after stdin has ended or the server was told to stop. Default: 5 seconds.
    pub drain: Duration,
    /// Quiet time after which an event stream sends a comment, so that nobody in between hangs up.
    /// Default: 15 seconds.
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

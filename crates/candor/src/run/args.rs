//! The flags that every server takes. Each has an environment variable, `CANDOR_` and its name.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use candor_server::tool::Split;
use candor_server::transport::http::{PublicUrl, Replica};
use candor_server::{AskLevel, Audit, KeepArguments, Limits, Server};
use clap::Args;

use super::value;
use crate::{Error, Result};

/// How a server is reached.
#[derive(Debug, Clone, Default, Args)]
// Otherwise, programs without a description of their own would begin their help with the line above.
#[command(about = None, long_about = None)]
#[non_exhaustive]
pub struct ServeArgs {
    /// Speak MCP over stdin and stdout, for a host that starts this program
    #[arg(long, env = "CANDOR_STDIO", value_parser = clap::builder::FalseyValueParser::new())]
    pub stdio: bool,

    /// Serve HTTP on this address (MCP at /mcp); port 0 picks a free one [default: 127.0.0.1:7332 or the next free port]
    #[arg(long, value_name = "ADDR", env = "CANDOR_HTTP", value_parser = value::address)]
    pub http: Option<SocketAddr>,

    /// The URL under which a proxy makes this server known: its host, its origin and its path are then ours
    #[arg(long, value_name = "URL", env = "CANDOR_PUBLIC_URL", value_parser = PublicUrl::parse)]
    pub public_url: Option<PublicUrl>,

    /// Serve MCP alone, without the console and its REST API
    #[arg(long, env = "CANDOR_NO_CONSOLE", value_parser = clap::builder::FalseyValueParser::new())]
    pub no_console: bool,

    /// Accept only the bearer tokens in this file, one `NAME sha256:HEX` per line. Add `operator` to the line of an operator (see
    /// `candor token`)
    #[arg(long, value_name = "FILE", env = "CANDOR_TOKENS")]
    pub tokens: Option<PathBuf>,

    /// Keys that sign what clients carry, 64 hexadecimal digits per line, newest first; replicas may share them
    #[arg(long, value_name = "FILE", env = "CANDOR_SECRET_FILE", value_parser = value::file())]
    pub secret_file: Option<PathBuf>,

    /// Names the data that this server serves. Servers with one name and one ledger share idempotency keys, approvals and grants;
    /// servers with different names share none [default: the server's own name for it]
    #[arg(long, value_name = "NAME", env = "CANDOR_INSTANCE")]
    pub instance: Option<String>,

    /// Names this process among replicas behind a proxy: legacy session ids begin with NAME and a dot
    #[arg(long, value_name = "NAME", env = "CANDOR_REPLICA")]
    pub replica: Option<Replica>,

    /// Store calls here: sqlite:PATH, postgres://…, memory: (until this process ends), or none [default: a file in the state folder]
    #[arg(long, value_name = "URL", env = "CANDOR_LEDGER", hide_env_values = true)]
    pub ledger: Option<String>,

    /// Which calls leave a durable row in the ledger, besides those that have a key
    #[arg(long, value_name = "WHICH", env = "CANDOR_AUDIT", value_enum, default_value_t)]
    pub audit: AuditFlag,

    /// Of which calls the ledger stores the arguments for operators, secrets redacted, for as long as it stores results
    #[arg(long, value_name = "WHICH", env = "CANDOR_KEEP_ARGUMENTS", value_enum, default_value_t)]
    pub keep_arguments: KeepArgumentsFlag,

    /// How long a call of this server counts as running after the server stopped responding, from 1s to 1h; a repeat with the same
    /// key waits for it [default: 30s]
    #[arg(long, value_name = "TIME", env = "CANDOR_LEASE", value_parser = value::lease)]
    pub lease: Option<Duration>,

    /// Require approval for calls that may do this. Reviewers decide in the console, with `candor approvals`, or, if the server
    /// knows the caller (--stdio, --tokens), in the caller's client [default: the server's own policy]
    #[arg(long, value_name = "WHICH", env = "CANDOR_ASK", value_enum)]
    pub ask: Option<AskFlag>,

    /// Deny all calls of this tool; repeat the flag for more tools
    #[arg(long, value_name = "TOOL", env = "CANDOR_DENY", value_delimiter = ',')]
    pub deny: Vec<String>,

    /// Only operators decide: approvals through the caller's own client do not count
    #[arg(long, env = "CANDOR_OPERATORS_ONLY", value_parser = clap::builder::FalseyValueParser::new())]
    pub operators_only: bool,

    /// The former name of `--operators-only`, accepted for one release
    #[arg(long, env = "CANDOR_OUT_OF_BAND", value_parser = clap::builder::FalseyValueParser::new(), hide = true)]
    pub(super) out_of_band: bool,

    /// How long the server holds a call that needs approval before it answers `approval_required`; 0: not at all [default: 45s]
    #[arg(long, value_name = "TIME", env = "CANDOR_HOLD", value_parser = value::length)]
    pub hold: Option<Duration>,

    /// List tools whose effects depend on one argument in parts, one for each of its values: for hosts that read static hints only
    #[arg(long, value_name = "HOW", env = "CANDOR_SPLIT", value_enum, num_args = 0..=1, default_missing_value = "instead", require_equals = true)]
    pub split: Option<SplitFlag>,

    /// The format of log lines on stderr; RUST_LOG selects the lines
    #[arg(long, value_name = "FORMAT", env = "CANDOR_LOG_FORMAT", value_enum, default_value_t)]
    pub log_format: LogFormat,

    #[allow(missing_docs)]
    #[command(flatten, next_help_heading = "Limits")]
    pub limits: LimitArgs,
}

/// Which calls need approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum AskFlag {
    /// None.
    Never,
    /// Those that may delete or overwrite.
    Destructive,
    /// Those that may change anything.
    Writes,
    /// All.
    Always,
}

impl From<AskFlag> for AskLevel {
    fn from(flag: AskFlag) -> Self {
        match flag {
            AskFlag::Never => Self::Never,
            AskFlag::Destructive => Self::Destructive,
            AskFlag::Writes => Self::Writes,
            AskFlag::Always => Self::Always,
        }
    }
}

/// Which calls leave a durable row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum AuditFlag {
    /// Those that may change something, were refused or replayed.
    #[default]
    Writes,
    /// All of them.
    All,
}

impl From<AuditFlag> for Audit {
    fn from(flag: AuditFlag) -> Self {
        match flag {
            AuditFlag::Writes => Self::Writes,
            AuditFlag::All => Self::All,
        }
    }
}

/// Of which calls the ledger stores the arguments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum KeepArgumentsFlag {
    /// Those that a reviewer approved or denied.
    #[default]
    Decided,
    /// Also those with a key that start without a review.
    All,
    /// None.
    None,
}

impl From<KeepArgumentsFlag> for KeepArguments {
    fn from(flag: KeepArgumentsFlag) -> Self {
        match flag {
            KeepArgumentsFlag::Decided => Self::Decided,
            KeepArgumentsFlag::All => Self::All,
            KeepArgumentsFlag::None => Self::None,
        }
    }
}

/// How split tools are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SplitFlag {
    /// The parts instead of the whole.
    Instead,
    /// The parts beside the whole.
    Beside,
}

/// The transports of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServeMode {
    Stdio,
    Http,
}

impl ServeArgs {
    /// Returns the name after `--instance`. An empty variable names none.
    #[must_use]
    pub fn instance_name(&self) -> Option<&str> {
        self.instance.as_deref().filter(|name| !name.is_empty())
    }

    /// Returns true if only operators decide.
    #[must_use]
    pub fn operators_only(&self) -> bool {
        self.operators_only || self.out_of_band
    }

    /// Returns the transport to serve. A flag overrides a variable; two flags contradict each other.
    pub(super) fn way(&self, words: &[String]) -> Result<ServeMode> {
        let flag = |name: &str| {
            words.iter().any(|word| {
                word.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
            })
        };
        match (self.stdio, self.http.is_some()) {
            (true, true) if flag("--stdio") && flag("--http") => {
                Err(Error::usage("--stdio and --http cannot be used together: use one of them"))
            }
            (true, true) if flag("--http") => Ok(ServeMode::Http),
            (true, _) => Ok(ServeMode::Stdio),
            (false, _) => Ok(ServeMode::Http),
        }
    }
}

impl From<SplitFlag> for Split {
    fn from(flag: SplitFlag) -> Self {
        match flag {
            SplitFlag::Instead => Self::Instead,
            SplitFlag::Beside => Self::Beside,
        }
    }
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Plain text.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// What a peer may take. Times are written as 500ms, 30s, 5m or 1h.
#[derive(Debug, Clone, Default, Args)]
#[non_exhaustive]
pub struct LimitArgs {
    /// Bytes of one message [default: 4194304]
    #[arg(long, value_name = "BYTES", env = "CANDOR_MAX_MESSAGE", value_parser = value::count, allow_negative_numbers = true)]
    pub max_message: Option<usize>,

    /// How deep a message may nest, up to 127 [default: 64]
    #[arg(long, value_name = "LEVELS", env = "CANDOR_MAX_DEPTH", value_parser = value::depth, allow_negative_numbers = true)]
    pub max_depth: Option<u8>,

    /// How long a tool may run [default: 5m]
    #[arg(long, value_name = "TIME", env = "CANDOR_DEADLINE", value_parser = value::time)]
    pub deadline: Option<Duration>,

    /// Requests that run at the same time [default: 1024]
    #[arg(long, value_name = "N", env = "CANDOR_MAX_REQUESTS", value_parser = value::count, allow_negative_numbers = true)]
    pub max_requests: Option<usize>,

    /// Event streams that are open at the same time [default: 1024]
    #[arg(long, value_name = "N", env = "CANDOR_MAX_STREAMS", value_parser = value::count, allow_negative_numbers = true)]
    pub max_streams: Option<usize>,

    /// TCP connections [default: 4096]
    #[arg(long, value_name = "N", env = "CANDOR_MAX_CONNECTIONS", value_parser = value::count, allow_negative_numbers = true)]
    pub max_connections: Option<usize>,

    /// How long a client may take to send a request's head, then its body, and to read its answer [default: 30s each]
    #[arg(long, value_name = "TIME", env = "CANDOR_PEER_TIMEOUT", value_parser = value::time)]
    pub peer_timeout: Option<Duration>,

    /// The former name of `--peer-timeout`, accepted for one release
    #[arg(long, value_name = "TIME", env = "CANDOR_PEER_TIME", value_parser = value::time, hide = true)]
    pub(super) peer_time: Option<Duration>,

    /// Legacy sessions of one peer [default: 1000]
    #[arg(long, value_name = "N", env = "CANDOR_MAX_SESSIONS", value_parser = value::count, allow_negative_numbers = true)]
    pub max_sessions: Option<usize>,

    /// How long a legacy session may be idle [default: 30m]
    #[arg(long, value_name = "TIME", env = "CANDOR_SESSION_IDLE", value_parser = value::time)]
    pub session_idle: Option<Duration>,

    /// Messages that wait for a slow reader [default: 64]
    #[arg(long, value_name = "N", env = "CANDOR_QUEUE", value_parser = value::queue, allow_negative_numbers = true)]
    pub queue: Option<u16>,

    /// How long requests may keep running after the server receives a stop signal [default: 5s]
    #[arg(long, value_name = "TIME", env = "CANDOR_DRAIN", value_parser = value::time)]
    pub drain: Option<Duration>,
}

impl LimitArgs {
    /// Sets the limits that were given; the others stay as the server set them.
    pub(super) fn apply(&self, server: Server) -> Server {
        let peer_timeout = self.peer_timeout.or(self.peer_time);
        server.limits(|limits: &mut Limits| {
            set(&mut limits.message_bytes, self.max_message);
            set(&mut limits.depth, self.max_depth.map(usize::from));
            set(&mut limits.deadline, self.deadline);
            set(&mut limits.stdio_requests, self.max_requests);
            set(&mut limits.http_requests, self.max_requests);
            set(&mut limits.streams, self.max_streams);
            set(&mut limits.connections, self.max_connections);
            set(&mut limits.head_time, peer_timeout);
            set(&mut limits.body_time, peer_timeout);
            set(&mut limits.write_time, peer_timeout);
            set(&mut limits.sessions_per_peer, self.max_sessions);
            set(&mut limits.session_idle, self.session_idle);
            set(&mut limits.queue, self.queue.map(usize::from));
            set(&mut limits.drain, self.drain);
        })
    }
}

fn set<T>(limit: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *limit = given;
    }
}

/// Reads the file that a flag names.
pub(super) fn read(path: &Path, flag: &str) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| Error::new(format!("{flag} {}: {e}", path.display())))
}

/// Returns the error for a problem with the content of a file.
pub(super) fn in_file(path: &Path, problem: impl fmt::Display) -> Error {
    Error::new(format!("{}: {problem}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_flag_wins_over_a_variable() {
        let both =
            ServeArgs { stdio: true, http: value::address("0").ok(), ..ServeArgs::default() };
        let way = |words: &[&str]| {
            both.way(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).ok()
        };
        assert_eq!(way(&["x", "--stdio"]), Some(ServeMode::Stdio));
        assert_eq!(way(&["x", "--http=0"]), Some(ServeMode::Http));
        assert_eq!(way(&["x", "--http", "0"]), Some(ServeMode::Http));
        assert_eq!(way(&["x", "--https"]), Some(ServeMode::Stdio));
        assert_eq!(way(&["x", "--stdio", "--http", "0"]), None);
        assert_eq!(ServeArgs::default().way(&[]).ok(), Some(ServeMode::Http));
    }
}

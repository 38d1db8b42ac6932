//! The flags that every server takes.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::{Error, Result};

/// How a server is reached.
#[derive(Debug, Clone, Default, Args)]
#[non_exhaustive]
pub struct ServeArgs {
    /// Speak MCP over stdin and stdout, for a host that starts this program
    #[arg(long, env = "CANDOR_STDIO", conflicts_with = "http")]
    pub stdio: bool,

    /// Serve HTTP on this address (MCP at /mcp); port 0 picks a free one [default: 127.0.0.1:7332 or the next free port]
    #[arg(long, value_name = "ADDR", env = "CANDOR_HTTP")]
    pub http: Option<String>,

    /// Let in only bearer tokens of this file, lines of `NAME sha256:HEX` (see `candor token`)
    #[arg(long, value_name = "FILE", env = "CANDOR_TOKENS")]
    pub tokens: Option<PathBuf>,

    /// Keys that sign what clients carry, 64 hexadecimal digits per line, newest first; instances may share them
    #[arg(long, value_name = "FILE", env = "CANDOR_SECRET_FILE")]
    pub secret_file: Option<PathBuf>,
}

/// Reads the file that a flag names.
pub(super) fn read(path: &Path, flag: &str) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| Error::new(format!("{flag} {}: {e}", path.display())))
}

/// A problem with what stands in a file.
pub(super) fn in_file(path: &Path, problem: impl fmt::Display) -> Error {
    Error::new(format!("{}: {problem}", path.display()))
}

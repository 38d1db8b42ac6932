//! Runs one client in one era over one transport: `CLIENT ERA TRANSPORT PLACE STORY [OPTION…]`.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::story::Story;
use crate::checks;
use crate::process::Outcome;

/// A client limits each of its checks to ten seconds, the one in Rust to twenty. This limit is for a client that hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// The bearer token of clients, for servers with `--tokens`, and its line in the token file.
const TOKEN: &str = "interop";
pub(super) const TOKEN_LINE: &str =
    "interop sha256:7b84a5a2f48de6c6234dca6c3bb43314ba1e141d4e0f34263a807f547d9a4e1b";

pub(super) struct Run<'a> {
    pub(super) story: &'a Story,
    pub(super) sdk: &'a str,
    pub(super) era: &'a str,
    pub(super) transport: Transport,
    pub(super) client: &'a Client,
    /// The options of the server, if the client starts it.
    pub(super) options: &'a [OsString],
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Transport {
    Stdio,
    Http,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
        })
    }
}

/// How to start a client, without the arguments that all clients share.
pub(super) struct Client {
    pub(super) program: PathBuf,
    pub(super) script: Option<PathBuf>,
    pub(super) settings: Vec<(&'static str, PathBuf)>,
}

impl Client {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.script).envs(self.settings.iter().map(|(name, value)| (name, value)));
        // Servers that the client starts store their ledger there, not in the developer's own home. Official clients pass on
        // no other variable that we could use.
        command.env(
            "HOME",
            std::env::temp_dir().join(format!("candor-clients-{}", std::process::id())),
        );
        command
    }
}

impl Run<'_> {
    pub(super) fn name(&self) -> String {
        format!("{}-{}-{}-{}", self.sdk, self.story.name, self.era, self.transport)
    }

    /// Runs the client against the server at `place`. Returns the checks that passed.
    pub(super) fn go(&self, place: &str, logs: &Path) -> Outcome<Vec<String>> {
        let log = logs.join(format!("{}.log", self.name()));
        let mut command = self.client.command();
        command.arg(self.era).arg(self.transport.to_string()).arg(place).arg(self.story.file);
        command.args(self.options);
        if self.story.asks && self.transport == Transport::Http {
            command.env("BEARER", TOKEN);
        }
        checks::run(&mut command, &log, PATIENCE)
    }
}

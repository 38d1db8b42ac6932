//! One client in one era over one transport: `CLIENT ERA TRANSPORT PLACE STORY [OPTION…]`.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::story::Story;
use crate::checks;
use crate::process::Outcome;

/// A client bounds each of its checks with ten seconds. This is for one that can no longer do so.
const PATIENCE: Duration = Duration::from_secs(30);

/// What clients send as `Authorization: Bearer …` where a server wants to know who they are, and the line that lets it in.
const TOKEN: &str = "interop";
pub(super) const TOKEN_LINE: &str =
    "interop sha256:7b84a5a2f48de6c6234dca6c3bb43314ba1e141d4e0f34263a807f547d9a4e1b";

pub(super) struct Run<'a> {
    pub(super) story: &'a Story,
    pub(super) sdk: &'a str,
    pub(super) era: &'a str,
    pub(super) transport: Transport,
    pub(super) client: &'a Client,
    /// What the server is started with, if the client starts it.
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

/// How a client is started, up to the arguments that all have in common.
pub(super) struct Client {
    pub(super) program: PathBuf,
    pub(super) script: Option<PathBuf>,
    pub(super) settings: Vec<(&'static str, PathBuf)>,
}

impl Client {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.script).envs(self.settings.iter().map(|(name, value)| (name, value)));
        // Servers that it starts remember their calls there, and not among those of whoever runs this. Official clients pass
        // on no more of the environment than this.
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

    /// Runs the client against the server at `place`, and gives the checks that it has passed.
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

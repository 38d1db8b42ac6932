//! The caller: a client that starts the server as its child process.

use std::path::Path;

use candor_client::{Client, Error, Program, Retry, Trust};
use serde_json::{Value, json};

/// The call, as written on a command line.
pub(super) const CALL: &str = "charge_card customer=ann amount_cents=4999";

pub(super) struct Caller(Client);

/// What the caller receives.
#[derive(Debug)]
pub(super) struct CallerReport {
    /// The error code, if the call failed.
    pub(super) code: Option<String>,
    pub(super) text: String,
    pub(super) value: Value,
    /// True if this is the stored result of an earlier call with the same key.
    pub(super) replayed: bool,
}

impl Caller {
    /// Starts the demo's server. With `never_answer`, it charges the card and then never responds.
    pub(super) async fn start(world: &Path, never_answer: bool) -> candor::Result<Self> {
        let mut program = Program::new(std::env::current_exe()?)
            .args(["demo", "--charges"])
            .arg(world.to_string_lossy());
        if never_answer {
            program = program.arg("--never-answer");
        }
        // By default, the client restarts its server. The demo shows the restart as a separate step.
        let client = Client::start(program).trust(Trust::Trusted).retry(Retry::never());
        Ok(Self(client.await.map_err(candor::Error::new)?))
    }

    /// Makes the call under this key.
    pub(super) async fn charge(&self, key: &str) -> Result<CallerReport, Error> {
        let arguments = json!({"customer": "ann", "amount_cents": 4999});
        let result = self.0.call("charge_card", arguments).key(key).await?;
        Ok(CallerReport {
            code: result.failure().map(|failure| failure.code),
            text: result.text(),
            value: result.value().cloned().unwrap_or_default(),
            replayed: result.is_replayed(),
        })
    }

    /// Closes the client, which ends the server.
    pub(super) async fn close(self) {
        self.0.close().await;
    }
}

//! Who calls the server: a client that has started it as its child.

use std::path::Path;

use candor_client::{Client, Error, Program, Retry, Trust};
use serde_json::{Value, json};

/// What is called, as it would be written on a command line.
pub(super) const CALL: &str = "charge_card customer=ann amount_cents=4999";

pub(super) struct Caller(Client);

/// What the caller is told.
#[derive(Debug)]
pub(super) struct CallerReport {
    /// Why it failed, if it did.
    pub(super) code: Option<String>,
    pub(super) text: String,
    pub(super) value: Value,
    /// It is the answer to an earlier call with the same key.
    pub(super) replayed: bool,
}

impl Caller {
    /// Starts the server of this world. One that never answers stands still once it has charged.
    pub(super) async fn start(world: &Path, never_answer: bool) -> candor::Result<Self> {
        let mut program = Program::new(std::env::current_exe()?)
            .args(["demo", "--charges"])
            .arg(world.to_string_lossy());
        if never_answer {
            program = program.arg("--never-answer");
        }
        // It would start its server again by itself, and this is to be seen.
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

    /// Lets the server end.
    pub(super) async fn close(self) {
        self.0.close().await;
    }
}

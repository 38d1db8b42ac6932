//! A shop: a folder that holds its books, which are the truth, and its ledger, which is held against them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use candor::store::{self, Store};
use rusqlite::Connection;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::desk::Desk;
use crate::example;
use crate::process::Program;

/// Who pays.
pub(crate) const CUSTOMER: &str = "8f14e45f-ceea-467f-a0e6-1f5b0d1b7a3c";

/// How a server is reached. It is not the same caller who comes the one way or the other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Http,
    Stdio,
}

pub(crate) struct Shop {
    folder: PathBuf,
}

impl Shop {
    /// A new one, for one test.
    pub(crate) fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("invoices").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self { folder }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Its server, whose ledger stands beside the books.
    pub(crate) fn command(&self) -> Command {
        let mut command = self.bare();
        command.arg("--ledger").arg(format!("sqlite:{}", self.file("ledger.db").display()));
        command
    }

    /// Its server, of which nobody has said where its ledger is.
    pub(crate) fn bare(&self) -> Command {
        let mut command = example("invoices");
        command.arg("--data").arg(self.file("invoices.db"));
        command
    }

    /// The server over HTTP, and where to ask it.
    pub(crate) async fn http(&self, flags: &[&str]) -> (Program, Desk) {
        let mut server = Program::start(self.command().args(["--http", "127.0.0.1:0"]).args(flags));
        let address = server.listening().await;
        (server, Desk::http(address))
    }

    /// The server over stdio.
    pub(crate) fn stdio(&self, flags: &[&str]) -> (Program, Desk) {
        let mut server = Program::start(self.command().arg("--stdio").args(flags));
        let desk = Desk::stdio(&mut server);
        (server, desk)
    }

    /// The server either way.
    pub(crate) async fn start(&self, way: Way) -> (Program, Desk) {
        match way {
            Way::Http => self.http(&[]).await,
            Way::Stdio => self.stdio(&[]),
        }
    }

    /// The books, past any server.
    pub(crate) fn books(&self) -> Connection {
        let books = Connection::open(self.file("invoices.db")).unwrap();
        books.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
        books
    }

    /// The ledger, past any server.
    pub(crate) fn ledger(&self, options: store::Options) -> Arc<dyn Store> {
        let place = format!("sqlite:{}", self.file("ledger.db").display());
        store::open(&place, options).unwrap()
    }

    /// What really happened: for each key, its invoices.
    pub(crate) fn invoices(&self) -> BTreeMap<String, Vec<String>> {
        let books = self.books();
        let mut all = books.prepare("SELECT idempotency_key, id FROM invoices").unwrap();
        let rows = all.query_map([], |row| {
            Ok((row.get::<_, String>(0)?, format!("inv_{}", row.get::<_, i64>(1)?)))
        });
        let mut invoices: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in rows.unwrap() {
            let (key, id) = row.unwrap();
            invoices.entry(key).or_default().push(id);
        }
        invoices
    }
}

/// The arguments of `create_invoice` under a key: the same whenever it is asked.
pub(crate) fn order(key: &str) -> Value {
    let amount: u64 = key.bytes().map(u64::from).sum();
    json!({"customer_id": CUSTOMER, "amount_cents": amount, "idempotency_key": key})
}

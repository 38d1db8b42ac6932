//! The server that is killed: one tool, which charges a card, and if it is told so never comes to answering.

use std::fmt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use candor::prelude::*;
use candor::run::ServeArgs;
use candor::store::{LedgerAddress, LedgerLimits, Options};
use rusqlite::{Connection, Row, params};

/// How long a server is believed to live without a word: 30 seconds elsewhere, too long for a story.
pub(super) const LEASE: Duration = Duration::from_secs(1);

#[candor::args]
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Charge {
    pub(super) charge_id: String,
    pub(super) customer: String,
    pub(super) amount_cents: i64,
}

impl fmt::Display for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {} cents)", self.charge_id, self.customer, self.amount_cents)
    }
}

/// A charge in the till, and who has put it there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChargeRow {
    pub(super) charge: Charge,
    /// The process of the server.
    pub(super) process: u32,
}

/// Where charges are written down. Nothing in it looks for keys: it has as many charges as were made.
pub(super) struct Till(Mutex<Connection>);

impl Till {
    pub(super) fn at(world: &Path) -> rusqlite::Result<Self> {
        let db = Connection::open(world.join("charges.db"))?;
        db.busy_timeout(Duration::from_secs(5))?;
        db.execute_batch(
            "CREATE TABLE IF NOT EXISTS charges (
                 id INTEGER PRIMARY KEY, customer TEXT NOT NULL, amount_cents INTEGER NOT NULL,
                 process INTEGER NOT NULL)",
        )?;
        Ok(Self(Mutex::new(db)))
    }

    fn charge(&self, customer: String, amount_cents: i64) -> rusqlite::Result<Charge> {
        let db = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        db.execute(
            "INSERT INTO charges (customer, amount_cents, process) VALUES (?, ?, ?)",
            params![customer, amount_cents, std::process::id()],
        )?;
        Ok(Charge { charge_id: format!("ch_{}", db.last_insert_rowid()), customer, amount_cents })
    }

    /// All that were ever made.
    pub(super) fn charges(&self) -> rusqlite::Result<Vec<ChargeRow>> {
        let db = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = "SELECT id, customer, amount_cents, process FROM charges ORDER BY id";
        let made = |row: &Row<'_>| {
            let charge_id = format!("ch_{}", row.get::<_, i64>(0)?);
            let charge = Charge { charge_id, customer: row.get(1)?, amount_cents: row.get(2)? };
            Ok(ChargeRow { charge, process: row.get(3)? })
        };
        db.prepare_cached(all)?.query_map([], made)?.collect()
    }
}

/// The file of the ledger.
pub(super) const LEDGER: &str = "ledger.db";

/// Where the ledger of this world is, which outlives its servers.
pub(super) fn ledger(world: &Path) -> (LedgerAddress, Options) {
    let rules = LedgerLimits { lease: LEASE, ..LedgerLimits::default() };
    (LedgerAddress::File(world.join(LEDGER)), Options { rules, ..Options::default() })
}

/// What the server does once a card is charged.
struct AfterCharge {
    never_answer: bool,
}

/// Charges a customer's card
#[tool(adds, idempotency = required, recorded(amount_cents))]
async fn charge_card(
    /// Whose card
    customer: String,
    /// How much, in cents
    #[range(min = 1)]
    amount_cents: i64,
    till: State<Till>,
    then: State<AfterCharge>,
) -> Result<Charge, ToolError> {
    let charge = till.charge(customer, amount_cents)?;
    if then.never_answer {
        // The moment between effect and answer, made long enough to be met.
        std::future::pending::<()>().await;
    }
    Ok(charge)
}

/// Serves over stdio. What the variables of the user say is for servers of their own.
pub(crate) async fn serve(world: &Path, never_answer: bool) -> candor::Result<()> {
    let mut args = ServeArgs::default();
    args.stdio = true;
    // No other than the one that it has.
    args.ledger = Some("none".to_owned());
    // A server that starts when its world is gone makes no new one.
    let (place, options) = ledger(world);
    let store = place.open_existing(options).map_err(candor::Error::new)?;
    Server::new("candor-demo-crash", env!("CARGO_PKG_VERSION"))
        .ledger(store)
        .state(Till::at(world).map_err(candor::Error::new)?)
        .state(AfterCharge { never_answer })
        .tools(tools![charge_card])
        .serve(args, &[])
        .await
}

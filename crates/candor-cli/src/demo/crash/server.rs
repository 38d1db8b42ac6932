//! The server that is killed: one tool, which charges a card. With `never_answer`, the tool never returns.

use std::fmt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use candor::prelude::*;
use candor::run::ServeArgs;
use candor::store::{LedgerAddress, LedgerLimits, Options, open_existing};
use rusqlite::{Connection, Row, params};

/// The lease of a server. The default of 30 seconds is too long for a demo.
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

/// A charge in the till, and the process that made it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChargeRow {
    pub(super) charge: Charge,
    /// The process id of the server.
    pub(super) process: u32,
}

/// The store of charges. It ignores keys, so it shows how many charges were made.
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

    /// Returns all charges that were ever made.
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

/// The file name of the ledger.
pub(super) const LEDGER: &str = "ledger.db";

/// Returns the address and the options of the ledger, which outlives the demo's servers.
pub(super) fn ledger(world: &Path) -> (LedgerAddress, Options) {
    let rules = LedgerLimits { lease: LEASE, ..LedgerLimits::default() };
    (LedgerAddress::File(world.join(LEDGER)), Options { rules, ..Options::default() })
}

/// What the server does after it has charged a card.
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
        // Extends the moment between effect and response, so that the kill hits it.
        std::future::pending::<()>().await;
    }
    Ok(charge)
}

/// Serves over stdio. It ignores the user's environment variables, which are meant for the user's own servers.
pub(crate) async fn serve(world: &Path, never_answer: bool) -> candor::Result<()> {
    let mut args = ServeArgs::default();
    args.stdio = true;
    // No other ledger than the one below.
    args.ledger = Some("none".to_owned());
    // A server that starts after its folder was removed must not create a new ledger.
    let (place, options) = ledger(world);
    let store = open_existing(&place, options).map_err(candor::Error::new)?;
    Server::new("candor-demo-crash", env!("CARGO_PKG_VERSION"))
        .ledger(store)
        .state(Till::at(world).map_err(candor::Error::new)?)
        .state(AfterCharge { never_answer })
        .tools(tools![charge_card])
        .serve(args, &[])
        .await
}

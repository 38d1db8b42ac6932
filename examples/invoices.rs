//! Invoices in a database of their own: what can be repeated safely, and what is made so by a key.
//!
//! Run with `cargo run --example invoices -- --data invoices.db`, call `create_invoice` twice with one key, and see one
//! invoice. Kill the server in between, and call again: one invoice, or an honest "nobody knows".

// Tools own their arguments, also those that only look at them.
#![allow(clippy::needless_pass_by_value)]

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use candor::prelude::*;
use candor::run::ServeArgs;
use clap::Parser;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Row, params};

/// Creates a new invoice
#[tool(additive, closed_world, blocking, idempotency = required, recorded(amount_cents))]
fn create_invoice(
    /// The customer who is to pay
    #[schemars(extend("format" = "uuid"))]
    customer_id: String,
    /// How much, in cents
    #[range(min = 1)]
    amount_cents: i64,
    /// Unique key (e.g., UUID) for this operation. Prevents duplicate invoices if retried.
    idempotency_key: String,
    books: State<Books>,
) -> Result<Created, ToolError> {
    let db = books.open();
    // Nothing here looks for the key: that this runs once for each is seen to before.
    db.execute(
        "INSERT INTO invoices (customer_id, amount_cents, status, idempotency_key) VALUES (?, ?, ?, ?)",
        params![customer_id, amount_cents, Status::Draft, idempotency_key],
    )
    .map_err(unless_busy)?;
    Ok(Created { invoice_id: format!("inv_{}", db.last_insert_rowid()), status: Status::Draft })
}

/// Fetches an invoice with all its details
#[tool(read_only, closed_world, blocking)]
fn get_invoice(
    /// An id from list_invoices
    invoice_id: String,
    books: State<Books>,
) -> Result<Invoice, ToolError> {
    books.invoice(&invoice_id)?.ok_or_else(|| not_found(&invoice_id))
}

/// Lists invoices, the earliest first
#[tool(read_only, closed_world, blocking)]
fn list_invoices(
    /// Only those in this state
    #[optional]
    status: Option<Status>,
    /// At most so many
    #[default(50)]
    #[range(min = 1, max = 500)]
    limit: u32,
    /// The last id of the page before
    #[optional]
    after: Option<String>,
    books: State<Books>,
) -> Result<Page, ToolError> {
    let after = match &after {
        None => 0,
        Some(id) => number(id).ok_or_else(|| not_found(id))?,
    };
    let db = books.open();
    let mut list = db.prepare_cached(
        "SELECT id, customer_id, amount_cents, status FROM invoices \
         WHERE id > ?1 AND (?2 IS NULL OR status = ?2) ORDER BY id LIMIT ?3",
    )?;
    // One more than wanted tells whether there are more.
    let found = list.query_map(params![after, status, i64::from(limit) + 1], Invoice::of)?;
    let mut invoices = found.collect::<Result<Vec<_>, _>>()?;
    let more = invoices.len() > limit as usize;
    invoices.truncate(limit as usize);
    Ok(Page { invoices, more })
}

/// Search for existing issues
#[tool(read_only, closed_world, blocking)]
fn search_issues(
    /// Words that the title or the text has
    query: String,
    #[default(20)]
    #[range(min = 1, max = 100)]
    limit: u32,
    books: State<Books>,
) -> Result<Vec<Issue>, ToolError> {
    let db = books.open();
    let mut search = db.prepare_cached(
        "SELECT id, title, body FROM issues WHERE instr(lower(title || ' ' || body), lower(?1)) > 0 ORDER BY id LIMIT ?2",
    )?;
    let issue =
        |row: &Row<'_>| Ok(Issue { id: row.get(0)?, title: row.get(1)?, body: row.get(2)? });
    Ok(search.query_map(params![query, limit], issue)?.collect::<Result<_, _>>()?)
}

/// Creates a user or updates if exists. Idempotent.
#[tool(additive, idempotent, closed_world, blocking)]
fn upsert_user(
    #[email] email: String,
    name: String,
    /// If provided, update; if omitted, create
    #[optional]
    id: Option<String>,
    books: State<Books>,
) -> Result<User, ToolError> {
    let db = books.open();
    let Some(id) = id else {
        // One user for one address, however often they are created.
        db.execute(
            "INSERT INTO users (email, name) VALUES (?1, ?2) ON CONFLICT (email) DO UPDATE SET name = ?2",
            params![email, name],
        )?;
        let of_email = "SELECT id FROM users WHERE email = ?";
        let id: i64 = db.query_row(of_email, [&email], |row| row.get(0))?;
        return Ok(User { id: format!("user_{id}"), email, name });
    };
    let row = id.strip_prefix("user_").and_then(|digits| digits.parse::<i64>().ok());
    let update = "UPDATE users SET email = ?1, name = ?2 WHERE id = ?3";
    match db.execute(update, params![email, name, row]) {
        Ok(1) => Ok(User { id, email, name }),
        Ok(_) => Err(ToolError::new(format!("User {id} not found.")).code("not_found")),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            Err(ToolError::new(format!("Another user has the address {email}.")).code("conflict"))
        }
        Err(error) => Err(error.into()),
    }
}

/// Sends the invoice to the customer via email. Idempotent: calling twice on the same invoice does not send duplicate emails.
/// The customer receives the hosted payment link in the email body. This can be reverted by calling `revoke_sent_invoice` if
/// sent in error.
#[tool(additive, idempotent, blocking)]
fn send_invoice_email(
    /// An id from list_invoices
    invoice_id: String,
    books: State<Books>,
) -> Result<String, ToolError> {
    let invoice = books.invoice(&invoice_id)?.ok_or_else(|| not_found(&invoice_id))?;
    let body =
        format!("Please pay {} cents: https://pay.example/{invoice_id}", invoice.amount_cents);
    let row = number(&invoice_id);
    let mut db = books.open();
    // The mail and the state of its invoice, or neither. A mail server would take it from the outbox.
    let change = db.transaction()?;
    change.execute(
        "INSERT OR IGNORE INTO outbox (invoice, body) VALUES (?, ?)",
        params![row, body],
    )?;
    let opened = "UPDATE invoices SET status = ? WHERE id = ? AND status = ?";
    change.execute(opened, params![Status::Open, row, Status::Draft])?;
    change.commit()?;
    Ok(format!("Invoice {invoice_id} sent."))
}

/// Takes back an invoice that was sent in error: its mail leaves the outbox, and it is a draft again. Idempotent. Can be
/// reverted with `send_invoice_email`.
#[tool(destructive, idempotent, blocking)]
fn revoke_sent_invoice(
    /// An id from list_invoices
    invoice_id: String,
    books: State<Books>,
) -> Result<String, ToolError> {
    books.invoice(&invoice_id)?.ok_or_else(|| not_found(&invoice_id))?;
    let row = number(&invoice_id);
    let mut db = books.open();
    let change = db.transaction()?;
    change.execute("DELETE FROM outbox WHERE invoice = ?", [row])?;
    let drafted = "UPDATE invoices SET status = ? WHERE id = ? AND status = ?";
    change.execute(drafted, params![Status::Draft, row, Status::Open])?;
    change.commit()?;
    Ok(format!("Invoice {invoice_id} is not sent."))
}

fn not_found(invoice_id: &str) -> ToolError {
    ToolError::new(format!("Invoice {invoice_id} not found"))
        .code("not_found")
        .instead("list_invoices", json!({}))
        .not_started()
}

/// A failure is kept under its key like any other result, unless it is certain that nothing has happened.
fn unless_busy(error: rusqlite::Error) -> ToolError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy) => ToolError::new("Another process writes. Nothing was done")
            .code("busy")
            .retry_after(Duration::from_secs(1))
            .not_started(),
        _ => error.into(),
    }
}

fn number(invoice_id: &str) -> Option<i64> {
    invoice_id.strip_prefix("inv_")?.parse().ok()
}

// ---- what it is about

#[candor::args]
#[derive(Clone, Copy)]
enum Status {
    Draft,
    Open,
    Paid,
    Void,
    Archive,
}

impl Status {
    const WORDS: [(Self, &'static str); 5] = [
        (Self::Draft, "draft"),
        (Self::Open, "open"),
        (Self::Paid, "paid"),
        (Self::Void, "void"),
        (Self::Archive, "archive"),
    ];
}

impl ToSql for Status {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(Self::WORDS[*self as usize].1.into())
    }
}

impl FromSql for Status {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let word = value.as_str()?;
        let known = Self::WORDS.into_iter().find(|(_, known)| *known == word);
        known.map(|(status, _)| status).ok_or(FromSqlError::InvalidType)
    }
}

#[candor::args]
struct Created {
    invoice_id: String,
    status: Status,
}

#[candor::args]
struct Invoice {
    invoice_id: String,
    customer_id: String,
    amount_cents: i64,
    status: Status,
}

impl Invoice {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            invoice_id: format!("inv_{}", row.get::<_, i64>(0)?),
            customer_id: row.get(1)?,
            amount_cents: row.get(2)?,
            status: row.get(3)?,
        })
    }
}

#[candor::args]
struct Page {
    invoices: Vec<Invoice>,
    /// Whether there are more: ask again with `after`
    more: bool,
}

#[candor::args]
struct Issue {
    id: i64,
    title: String,
    body: String,
}

#[candor::args]
struct User {
    id: String,
    email: String,
    name: String,
}

/// The database.
struct Books(Mutex<Connection>);

impl Books {
    fn at(path: &Path) -> rusqlite::Result<Self> {
        let db = Connection::open(path)?;
        db.busy_timeout(Duration::from_secs(5))?;
        db.execute_batch(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             CREATE TABLE IF NOT EXISTS invoices (
                 id INTEGER PRIMARY KEY, customer_id TEXT NOT NULL, amount_cents INTEGER NOT NULL,
                 status TEXT NOT NULL, idempotency_key TEXT NOT NULL);
             CREATE TABLE IF NOT EXISTS outbox (invoice INTEGER PRIMARY KEY, body TEXT NOT NULL);
             CREATE TABLE IF NOT EXISTS users (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE, name TEXT NOT NULL);
             CREATE TABLE IF NOT EXISTS issues (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL);
             INSERT OR IGNORE INTO issues VALUES
                 (1, 'Customer charged twice', 'The request was sent again after a time-out'),
                 (2, 'Invoice has the wrong address', 'The customer has moved'),
                 (3, 'Reminder came too early', 'The invoice was not due yet');",
        )?;
        Ok(Self(Mutex::new(db)))
    }

    fn open(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn invoice(&self, invoice_id: &str) -> rusqlite::Result<Option<Invoice>> {
        let of_id = "SELECT id, customer_id, amount_cents, status FROM invoices WHERE id = ?";
        self.open().query_row(of_id, [number(invoice_id)], Invoice::of).optional()
    }
}

#[derive(Parser)]
struct Options {
    /// The database file; made if it is missing
    #[arg(long, value_name = "FILE", default_value = "invoices.db")]
    data: PathBuf,

    #[command(flatten)]
    serve: ServeArgs,
}

#[tokio::main]
async fn main() -> candor::Result<()> {
    let options = Options::parse();
    let refused = |error| candor::Error::new(format!("{}: {error}", options.data.display()));
    let books = Books::at(&options.data).map_err(refused)?;
    // Two databases served to one person share no keys.
    let instance = options.data.canonicalize()?;
    Server::new("invoices", "1.0.0")
        .instance(format!("sqlite:{}", instance.display()))
        .state(books)
        .tools(tools![
            create_invoice,
            get_invoice,
            list_invoices,
            search_issues,
            upsert_user,
            send_invoice_email,
            revoke_sent_invoice
        ])
        .serve(options.serve, &[])
        .await
}

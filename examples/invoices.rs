//! Invoices in a database of their own: what can be repeated safely, what is made so by a key, what can be taken back, and
//! what is looked at before it is done.
//!
//! Here: sending invoices, and what stands beside them. `making`: making and finding them. `lifecycle`: changing and deleting them.
//! `migrations`: changing the database that they are in, after a preview. `books`: the database. All but this file are `candor demo`'s, too.
//!
//! Run with `cargo run --example invoices -- --data invoices.db`, call `create_invoice` twice with one key, and see one
//! invoice. Kill the server in between, and call again: one invoice, or an honest "nobody knows".

// Tools own their arguments, also those that only look at them.
#![allow(clippy::needless_pass_by_value)]

#[path = "invoices/books.rs"]
mod books;
#[path = "invoices/lifecycle.rs"]
mod lifecycle;
#[path = "invoices/making.rs"]
mod making;
#[path = "invoices/migrations.rs"]
mod migrations;

use std::path::PathBuf;

use candor::prelude::*;
use candor::run::ServeArgs;
use clap::Parser;
use rusqlite::{ErrorCode, Row, params};

use books::{Books, Status, not_found, number};
use lifecycle::{archive_invoice, delete_invoice, update_invoice, void_invoice};
use making::{create_invoice, get_invoice, list_invoices};
use migrations::{execute_migration, preview_migration};

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
#[tool(additive, idempotent, closed_world, blocking, unsaid(retry))]
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
// What is declared is said already, in words of its own.
#[tool(additive, idempotent, blocking, undo = "revoke_sent_invoice", unsaid(retry, undo))]
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

/// Takes back an invoice that was sent in error: its mail leaves the outbox, and it is a draft again.
#[tool(destructive, idempotent, blocking, undo = "send_invoice_email", rate = "10/min")]
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

/// Invoices in a database of their own: what can be repeated safely, and what is made so
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
            revoke_sent_invoice,
            update_invoice,
            void_invoice,
            archive_invoice,
            delete_invoice,
            preview_migration,
            execute_migration
        ])
        .serve(options.serve, &[])
        .await
}

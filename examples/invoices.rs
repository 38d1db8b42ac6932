//! Invoices in a database of their own: calls that are safe to retry, calls that a key makes safe to retry, calls that can be
//! undone, and calls that need a preview.
//!
//! This file sends invoices, and has tools for issues and users. `making`: creating and finding invoices. `lifecycle`: changing and
//! deleting them. `migrations`: changing the database after a preview. `books`: the database. `candor demo` uses these four, too.
//!
//! Run with `cargo run --example invoices -- --data invoices.db`, call `create_invoice` twice with one key, and see one
//! invoice. Kill the server in between, and call again: one invoice, or an honest "outcome unknown".

// Tools own their arguments, even if they only read them.
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
use rusqlite::{OptionalExtension as _, Row, ToSql, TransactionBehavior, params};

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
#[tool(reads, closed_world, blocking)]
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
// Not destructive, because it overwrites nothing: every version of a user is a row of its own, and the latest counts.
#[tool(adds, idempotent, closed_world, blocking, omit(retry))]
fn upsert_user(
    #[email] email: String,
    name: String,
    /// If provided, update; if omitted, create
    #[optional]
    id: Option<String>,
    books: State<Books>,
) -> Result<User, ToolError> {
    let mut db = books.open();
    // No other process adds a version between the query and the insert.
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let first = |sql: &str, of: &dyn ToSql| -> rusqlite::Result<Option<i64>> {
        change.query_row(sql, [of], |row| row.get(0)).optional()
    };
    let latest = "version = (SELECT max(version) FROM users AS other WHERE other.id = users.id)";
    let holder = first(&format!("SELECT id FROM users WHERE email = ? AND {latest}"), &email)?;
    let number = match (&id, holder) {
        // One user for one address, however often a caller creates it.
        (None, Some(holder)) => holder,
        (None, None) => first("SELECT coalesce(max(id), 0) + ? FROM users", &1)?.unwrap_or(1),
        (Some(id), holder) => {
            let number = id.strip_prefix("user_").and_then(|digits| digits.parse::<i64>().ok());
            let Some(number) = first("SELECT id FROM users WHERE id = ?", &number)? else {
                return Err(ToolError::new(format!("User {id} not found.")).code("not_found"));
            };
            if holder.is_some_and(|holder| holder != number) {
                let told = format!("Another user has the address {email}.");
                return Err(ToolError::new(told).code("conflict"));
            }
            number
        }
    };
    let add = format!(
        "INSERT INTO users (id, email, name) SELECT ?1, ?2, ?3 WHERE NOT EXISTS \
         (SELECT 1 FROM users WHERE id = ?1 AND email = ?2 AND name = ?3 AND {latest})"
    );
    change.execute(&add, params![number, email, name])?;
    change.commit()?;
    Ok(User { id: format!("user_{number}"), email, name })
}

/// Sends the invoice to the customer via email. Idempotent: calling twice on the same invoice does not send duplicate emails.
/// The customer receives the hosted payment link in the email body. This can be reverted by calling `revoke_sent_invoice` if
/// sent in error.
// The description already says in its own words what is declared here.
#[tool(changes, idempotent, blocking, undo = "revoke_sent_invoice", omit(retry, undo))]
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
    // Store the mail and the state of its invoice together. A real mail server would take the mail from the outbox.
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
#[tool(changes, idempotent, blocking, undo = "send_invoice_email", rate = "10/min")]
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
    // The path names the instance, so that two databases of one user share no keys.
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

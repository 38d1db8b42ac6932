//! Creates and finds invoices. A retry with the same key creates no second invoice.

use candor::prelude::*;
use rusqlite::params;

use super::books::{Books, Created, Invoice, Page, Status, not_found, number, unless_busy};

/// Creates a new invoice
#[tool(adds, closed_world, blocking, idempotency = required, undo = "void_invoice", recorded(amount_cents))]
pub(crate) fn create_invoice(
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
    // No check of the key is needed: the server runs this once for each key.
    db.execute(
        "INSERT INTO invoices (customer_id, amount_cents, status, idempotency_key) VALUES (?, ?, ?, ?)",
        params![customer_id, amount_cents, Status::Draft, idempotency_key],
    )
    .map_err(unless_busy)?;
    Ok(Created { invoice_id: format!("inv_{}", db.last_insert_rowid()), status: Status::Draft })
}

/// Fetches an invoice with all its details
#[tool(reads, closed_world, blocking)]
pub(crate) fn get_invoice(
    /// An id from list_invoices
    invoice_id: String,
    books: State<Books>,
) -> Result<Invoice, ToolError> {
    books.invoice(&invoice_id)?.ok_or_else(|| not_found(&invoice_id))
}

/// Lists invoices, the earliest first
#[tool(reads, closed_world, blocking)]
pub(crate) fn list_invoices(
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
    // One extra row shows whether there are more.
    let found = list.query_map(params![after, status, i64::from(limit) + 1], Invoice::of)?;
    let mut invoices = found.collect::<Result<Vec<_>, _>>()?;
    let more = invoices.len() > limit as usize;
    invoices.truncate(limit as usize);
    Ok(Page { invoices, more })
}

//! The lifecycle of invoices. A change of state is better than a deletion, and refusals say what to do instead.

use candor::prelude::*;
use rusqlite::{OptionalExtension as _, Transaction, params};

use super::books::{Books, Invoice, Status, not_found, number};

/// The states that a caller can give to an invoice: that it is paid, the bank says.
#[candor::args]
#[derive(Clone, Copy)]
pub(crate) enum Settable {
    Draft,
    Open,
    Void,
    Archive,
}

impl From<Settable> for Status {
    fn from(status: Settable) -> Self {
        match status {
            Settable::Draft => Self::Draft,
            Settable::Open => Self::Open,
            Settable::Void => Self::Void,
            Settable::Archive => Self::Archive,
        }
    }
}

/// Changes an invoice: what is left out stays as it is
#[tool(
    effects(status == "void" => deletes + idempotent, otherwise => changes + idempotent),
    closed_world, blocking, undo = "update_invoice"
)]
pub(crate) fn update_invoice(
    /// An id from list_invoices
    id: String,
    /// The state that it is to have
    #[optional]
    status: Option<Settable>,
    /// How much, in cents; of a draft alone
    #[optional]
    #[range(min = 1)]
    amount_cents: Option<i64>,
    books: State<Books>,
) -> Result<Invoice, ToolError> {
    let mut db = books.open();
    let change = db.transaction()?;
    let invoice = found(&change, &id)?;
    if let Some(amount) = amount_cents {
        if invoice.status != Status::Draft {
            return Err(ToolError::new(format!("Invoice {id} is no draft: its amount stays."))
                .code("conflict"));
        }
        let update = "UPDATE invoices SET amount_cents = ? WHERE id = ?";
        change.execute(update, params![amount, number(&id)])?;
    }
    if let Some(status) = status {
        set(&change, &invoice, status.into())?;
    }
    let invoice = found(&change, &id)?;
    change.commit()?;
    Ok(invoice)
}

/// Voids an invoice: nobody is charged for it any more. One that was not paid can be opened again with `update_invoice`.
#[tool(deletes, idempotent, closed_world, blocking, undo = "update_invoice", omit(undo))]
pub(crate) fn void_invoice(
    /// An id from list_invoices
    invoice_id: String,
    books: State<Books>,
) -> Result<String, ToolError> {
    change_to(&books, &invoice_id, Status::Void)?;
    Ok(format!("Invoice {invoice_id} is void."))
}

/// Puts an invoice away that nothing is to be done about any more
#[tool(changes, idempotent, closed_world, blocking, undo = "update_invoice")]
pub(crate) fn archive_invoice(
    /// An id from list_invoices
    invoice_id: String,
    books: State<Books>,
) -> Result<String, ToolError> {
    change_to(&books, &invoice_id, Status::Archive)?;
    Ok(format!("Invoice {invoice_id} is archived."))
}

/// Permanently deletes an invoice
#[tool(deletes, closed_world, blocking, instead = "void_invoice")]
pub(crate) fn delete_invoice(
    /// An id from list_invoices
    invoice_id: String,
    books: State<Books>,
) -> Result<String, ToolError> {
    let mut db = books.open();
    let change = db.transaction()?;
    let row = number(&invoice_id);
    let Some(invoice) = find(&change, &invoice_id)? else {
        return Err(ToolError::new(format!("Invoice {invoice_id} not found. Cannot delete."))
            .code("not_found")
            .not_started());
    };
    if invoice.status == Status::Paid {
        let told =
            "Cannot delete paid invoice. Call `void_invoice` instead to prevent future charges.";
        return Err(ToolError::new(told)
            .code("invoice_paid")
            .instead("void_invoice", json!({"invoice_id": invoice_id}))
            .not_started());
    }
    must_not_be_void_for_good(&change, &invoice)?;
    change.execute("DELETE FROM outbox WHERE invoice = ?", [row])?;
    change.execute("DELETE FROM invoices WHERE id = ?", [row])?;
    change.commit()?;
    Ok(format!("Invoice {invoice_id} deleted."))
}

fn change_to(books: &Books, invoice_id: &str, status: Status) -> Result<(), ToolError> {
    let mut db = books.open();
    let change = db.transaction()?;
    set(&change, &found(&change, invoice_id)?, status)?;
    Ok(change.commit()?)
}

fn found(db: &Transaction<'_>, invoice_id: &str) -> Result<Invoice, ToolError> {
    find(db, invoice_id)?.ok_or_else(|| not_found(invoice_id))
}

fn find(db: &Transaction<'_>, invoice_id: &str) -> rusqlite::Result<Option<Invoice>> {
    let of_id = "SELECT id, customer_id, amount_cents, status FROM invoices WHERE id = ?";
    db.query_row(of_id, [number(invoice_id)], Invoice::of).optional()
}

/// Sets the state of an invoice. A paid invoice can only become void, and then stays void.
fn set(db: &Transaction<'_>, invoice: &Invoice, status: Status) -> Result<(), ToolError> {
    let id = &invoice.invoice_id;
    if invoice.status == Status::Paid && status != Status::Void {
        return Err(ToolError::new(format!("Invoice {id} is paid. Nothing was run."))
            .code("invoice_paid")
            .not_started());
    }
    if status != Status::Void {
        must_not_be_void_for_good(db, invoice)?;
    }
    if invoice.status == Status::Paid {
        db.execute("INSERT OR IGNORE INTO paid (invoice) VALUES (?)", [number(id)])?;
    }
    let update = "UPDATE invoices SET status = ? WHERE id = ?";
    db.execute(update, params![status, number(id)])?;
    Ok(())
}

/// Returns an error if the invoice was paid before it was voided.
fn must_not_be_void_for_good(db: &Transaction<'_>, invoice: &Invoice) -> Result<(), ToolError> {
    let id = &invoice.invoice_id;
    let was_paid = "SELECT 1 FROM paid WHERE invoice = ?";
    if db.query_row(was_paid, [number(id)], |_| Ok(())).optional()?.is_none() {
        return Ok(());
    }
    let told = format!("Invoice {id} was paid, and is void for good. Nothing was run.");
    Err(ToolError::new(told).code("invoice_paid").not_started())
}

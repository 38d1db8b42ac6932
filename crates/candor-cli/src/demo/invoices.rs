//! The invoices of `examples/invoices.rs`: the same books, and the tools that the demo uses.

#[path = "../../../../examples/invoices/books.rs"]
pub(super) mod books;
#[allow(clippy::needless_pass_by_value)] // tools own their arguments
#[path = "../../../../examples/invoices/lifecycle.rs"]
mod lifecycle;
#[allow(clippy::needless_pass_by_value)] // as above
#[path = "../../../../examples/invoices/making.rs"]
mod making;
#[allow(clippy::needless_pass_by_value)] // as above
#[path = "../../../../examples/invoices/migrations.rs"]
mod migrations;

use std::sync::Arc;

use candor::tool::Tool;

pub(super) fn tools() -> Vec<Arc<dyn Tool>> {
    candor::tools![
        making::create_invoice,
        making::get_invoice,
        making::list_invoices,
        lifecycle::update_invoice,
        lifecycle::void_invoice,
        lifecycle::archive_invoice,
        lifecycle::delete_invoice,
        migrations::preview_migration,
        migrations::execute_migration
    ]
}

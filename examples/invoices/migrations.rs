//! Migrations of the database: previewed first, and run only as previewed.

use candor::prelude::*;
use rusqlite::Connection;

use super::books::Books;

/// What a migration adds.
struct Migration {
    id: &'static str,
    tables: &'static [&'static str],
    /// Table and column.
    columns: &'static [(&'static str, &'static str)],
}

const MIGRATIONS: [Migration; 2] = [
    Migration { id: "reminders", tables: &["reminders"], columns: &[("invoices", "due_on")] },
    Migration {
        id: "refunds",
        tables: &["refunds", "refund_reasons"],
        columns: &[("invoices", "refunded_cents"), ("users", "iban")],
    },
];

/// Shows what tables and columns would change without executing
#[tool(reads, blocking)]
pub(crate) fn preview_migration(
    /// The migration: reminders or refunds
    migration_id: String,
    books: State<Books>,
) -> Result<Plan<String>, ToolError> {
    let db = books.open();
    let plan = planned(&db, &migration_id)?;
    let columns: Vec<_> =
        plan.columns.iter().map(|(table, name)| format!("{table}.{name}")).collect();
    let shown = format!(
        "Would create tables: {}. Would add columns: {}.",
        plan.tables.join(", "),
        columns.join(", ")
    );
    // SQLite counts every change of the schema, also those of other processes.
    let version: i64 = db.query_row("PRAGMA schema_version", [], |row| row.get(0))?;
    Ok(Plan::new(shown, version.to_string()))
}

/// Executes the migration
#[tool(changes, blocking, preview = "preview_migration", requires_preview, serial = "schema")]
pub(crate) fn execute_migration(
    /// The migration: reminders or refunds
    migration_id: String,
    books: State<Books>,
) -> Result<String, ToolError> {
    let mut db = books.open();
    let plan = planned(&db, &migration_id)?;
    let change = db.transaction()?;
    for table in plan.tables {
        change.execute_batch(&format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY)"))?;
    }
    for (table, column) in plan.columns {
        change.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {column}"))?;
    }
    change.commit()?;
    Ok(format!("Migration {migration_id} applied."))
}

/// Returns the migration, if it is not applied yet.
fn planned(db: &Connection, migration_id: &str) -> Result<&'static Migration, ToolError> {
    let known = MIGRATIONS.iter().find(|migration| migration.id == migration_id);
    let migration = known.ok_or_else(|| {
        ToolError::new(format!("Migration {migration_id} not found."))
            .code("not_found")
            .not_started()
    })?;
    let exists = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?";
    let done: i64 = db.query_row(exists, [migration.tables[0]], |row| row.get(0))?;
    if done > 0 {
        return Err(ToolError::new(format!("Migration {migration_id} was applied before."))
            .code("already_applied")
            .never_retry());
    }
    Ok(migration)
}

//! The initial data: an invoice in each state, and a few files.

use std::fs;
use std::path::Path;

use rusqlite::params;

use super::invoices::books::{Books, Status};

/// The customer in the commands to try.
pub(super) const CUSTOMER: &str = "6f1c2a34-9d0b-4b7e-8c55-0a1b2c3d4e5f";

const ANOTHER: &str = "0d9e8f7a-6b5c-4d3e-92f1-a0b1c2d3e4f5";

const INVOICES: [(&str, i64, Status); 5] = [
    (CUSTOMER, 12_000, Status::Paid),
    (CUSTOMER, 4_500, Status::Open),
    (ANOTHER, 990, Status::Draft),
    (ANOTHER, 25_000, Status::Void),
    (CUSTOMER, 700, Status::Archive),
];

/// The file that the tips delete.
pub(super) const OLD: &str = "notes/old.md";

const FILES: [(&str, &str); 5] = [
    ("readme.md", "# Scratch\n\nFiles to try things with. They go when the demo ends.\n"),
    ("notes/plan.md", "# Plan\n\n- look at what a call would do\n- do it\n- look at what it did\n"),
    (OLD, "# Old plan\n\nThe team replaced the plan.\n"),
    ("data/prices.csv", "item,cents\npen,250\nbook,1999\nlamp,4500\n"),
    ("data/settings.json", "{\"currency\": \"EUR\", \"reminders\": false}\n"),
];

pub(super) fn sow_files(folder: &Path) -> candor::Result<()> {
    for (path, text) in FILES {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, text)?;
    }
    Ok(())
}

pub(super) fn sow_books(path: &Path) -> candor::Result<Books> {
    let sow = || {
        let books = Books::at(path)?;
        for (n, (customer, cents, status)) in INVOICES.into_iter().enumerate() {
            books.open().execute(
                "INSERT INTO invoices (customer_id, amount_cents, status, idempotency_key) VALUES (?, ?, ?, ?)",
                params![customer, cents, status, format!("seed-{}", n + 1)],
            )?;
        }
        Ok(books)
    };
    sow().map_err(|error: rusqlite::Error| {
        candor::Error::new(format!("{}: {error}", path.display()))
    })
}

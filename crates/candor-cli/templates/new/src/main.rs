//! An MCP server that stores notes: one tool that reads, and one that writes and is safe to retry.
//!
//! `cargo run` serves HTTP on this machine, with a console; `cargo run -- --stdio` serves a host that starts it.

mod notes;
#[cfg(test)]
mod tests;

use std::env;
use std::path::PathBuf;

use candor::prelude::*;

use notes::Notes;

/// Lists notes, the latest first.
#[tool(reads, closed_world, blocking)]
fn list_notes(
    /// At most this many
    #[default(20)]
    #[range(min = 1, max = 500)]
    limit: u32,
    notes: State<Notes>,
) -> Result<Vec<String>, ToolError> {
    let mut all = notes.all()?;
    all.reverse();
    all.truncate(limit as usize);
    Ok(all)
}

/// Adds a note.
// The key makes a retry recognizable: a client that lost the response calls again and gets it, and there is still one note.
#[tool(adds, closed_world, blocking, idempotency = required)]
fn add_note(
    /// One line
    #[length(min = 1, max = 1000)]
    text: String,
    notes: State<Notes>,
) -> Result<String, ToolError> {
    if text.contains(['\n', '\r']) {
        return Err(
            ToolError::new("A note is one line. Add each line by itself.").code("many_lines"),
        );
    }
    let count = notes.add(&text)?;
    Ok(format!("Added as note {count}."))
}

/// Builds the server for every transport: `main` runs it, and the tests call it.
fn server(notes: Notes) -> Server {
    Server::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
        .instructions("Notes of one line each.")
        // A key is valid for one file of notes, and means nothing for another.
        .instance(format!("file://{}", notes.path().display()))
        .state(notes)
        .tools(tools![list_notes, add_note])
}

#[tokio::main]
async fn main() -> candor::Result<()> {
    let path = env::var_os("NOTES").map_or_else(|| PathBuf::from("notes.txt"), PathBuf::from);
    server(Notes::at(&path)?).run().await
}

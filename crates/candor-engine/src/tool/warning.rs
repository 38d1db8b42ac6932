//! Warnings for the author of a tool, logged once.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Logs a warning about a tool. A tool source returns the same tools on every request, so each warning is logged only once.
pub(super) fn once(tool: &str, problem: &str) {
    static SAID: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    const ROOM: usize = 1024;
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let said = said.get_or_insert_default();
    if said.len() < ROOM && said.insert(format!("{tool}: {problem}")) {
        tracing::warn!(tool, "{problem}");
    }
}

//! What an author should know of a tool, and nobody else: said in the log, once.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Warns of a tool. Sets that a provider makes on every request are all alike, so what was said once is not said again.
pub(super) fn once(tool: &str, problem: &str) {
    static SAID: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    const ROOM: usize = 1024;
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let said = said.get_or_insert_default();
    if said.len() < ROOM && said.insert(format!("{tool}: {problem}")) {
        tracing::warn!(tool, "{problem}");
    }
}

//! The descendants of this process.

use std::fs;
use std::time::Duration;

use crate::check::{Checked, holds};

/// The interval between two checks.
const A_MOMENT: Duration = Duration::from_millis(20);

/// Returns the ids of all descendants of this process. Empty if there is no `/proc`.
pub(crate) fn descendants() -> Vec<u32> {
    let all: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let id = entry.ok()?.file_name().to_str()?.parse().ok()?;
            Some((id, parent(id)?))
        })
        .collect();
    let mut found = vec![std::process::id()];
    let mut looked = 0;
    while looked < found.len() {
        let of = found[looked];
        found.extend(all.iter().filter(|(_, parent)| *parent == of).map(|(id, _)| *id));
        looked += 1;
    }
    found.split_off(1)
}

/// Returns the parent of a running process. A zombie process does not count as running.
fn parent(id: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // `ID (NAME) STATE PARENT …`. The name may contain any character.
    let mut rest = stat.rsplit_once(')')?.1.split_whitespace();
    let state = rest.next()?;
    rest.next()?.parse().ok().filter(|_| state != "Z")
}

/// Waits until all of them have ended. The calling check limits the time.
pub(crate) async fn gone(ids: &[u32]) {
    while ids.iter().any(|id| parent(*id).is_some()) {
        tokio::time::sleep(A_MOMENT).await;
    }
}

/// Fails if one of them still runs.
pub(crate) fn must_be_gone(ids: &[u32]) -> Checked {
    let left: Vec<&u32> = ids.iter().filter(|id| parent(**id).is_some()).collect();
    holds(left.is_empty(), format!("left behind: {left:?}"))
}

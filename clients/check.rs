//! Prints one line per check, ends at the first mismatch, and limits every wait. For both programs in Rust.

use std::process;
use std::time::Duration;

/// The time limit of one check. Some checks start a program that takes seconds to start.
const PATIENCE: Duration = Duration::from_secs(20);

/// The difference between the expected and the actual result, in words.
pub(crate) struct Mismatch(pub(crate) String);

pub(crate) type Checked<T = ()> = Result<T, Mismatch>;

/// Runs a check and prints its result. A failed check ends the program.
pub(crate) async fn check<T>(what: &str, work: impl Future<Output = Checked<T>>) -> T {
    let outcome = tokio::time::timeout(PATIENCE, work)
        .await
        .unwrap_or_else(|_| Err(Mismatch(format!("not done after {} s", PATIENCE.as_secs()))));
    match outcome {
        Ok(value) => {
            println!("ok {what}");
            value
        }
        Err(Mismatch(reason)) => {
            println!("FAILED {what}\n{reason}");
            process::exit(1);
        }
    }
}

pub(crate) fn holds(condition: bool, otherwise: impl Into<String>) -> Checked {
    if condition { Ok(()) } else { Err(Mismatch(otherwise.into())) }
}

/// An error of a client is a mismatch, too.
impl<E: std::error::Error> From<E> for Mismatch {
    fn from(error: E) -> Self {
        Self(format!("it failed: {error}"))
    }
}

//! One line for each thing checked, the end at the first mismatch, and no wait without an end. For both programs that are written in Rust.

use std::process;
use std::time::Duration;

/// How long one check may take. Some start a program that takes seconds to start.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a check found instead of what it expected, in words.
pub(crate) struct Mismatch(pub(crate) String);

pub(crate) type Checked<T = ()> = Result<T, Mismatch>;

/// Says how the check went; a check that fails is the last one.
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

/// What a client could not do is a mismatch, too.
impl<E: std::error::Error> From<E> for Mismatch {
    fn from(error: E) -> Self {
        Self(format!("it failed: {error}"))
    }
}

//! One line for each thing checked, the end at the first mismatch, and no wait without an end.

use std::process;
use std::time::Duration;

use rmcp::service::ServiceError;
use serde_json::Value;

/// How long one check may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a check found instead of what it expected, in words.
pub(crate) struct Mismatch(pub(crate) String);

/// Says how the check went; a check that fails is the last one.
pub(crate) async fn check<T>(what: &str, work: impl Future<Output = Result<T, Mismatch>>) -> T {
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

pub(crate) fn equal(actual: &Value, expected: &Value) -> Result<(), Mismatch> {
    holds(actual == expected, &format!("expected {expected}\n     got {actual}"))
}

pub(crate) fn holds(condition: bool, otherwise: &str) -> Result<(), Mismatch> {
    if condition { Ok(()) } else { Err(Mismatch(otherwise.to_owned())) }
}

impl From<ServiceError> for Mismatch {
    fn from(error: ServiceError) -> Self {
        Self(format!("the SDK says: {error}"))
    }
}

impl From<serde_json::Error> for Mismatch {
    fn from(error: serde_json::Error) -> Self {
        Self(format!("not the JSON that was expected: {error}"))
    }
}

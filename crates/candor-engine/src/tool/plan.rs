//! The result of a preview that reports the state it read.

use candor_schema::OutputSchema;

use super::{IntoOutput, Output, ToolError};

/// A preview's result, with a digest of the state that it read: a revision, a count, a hash of the rows. A call that follows the
/// preview is refused if the digest is another one just before it starts.
///
/// ```
/// use candor_server::tool::Plan;
///
/// fn plan_deletion(rows: &[String]) -> Plan<String> {
///     Plan::new(format!("Would delete {} rows.", rows.len()), rows.join("\n"))
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan<T> {
    /// What the caller sees.
    pub shown: T,
    /// What must not change before the call starts. It stays on the server.
    pub digest: String,
}

impl<T> Plan<T> {
    /// Creates a plan from what the caller sees and a digest of the state behind it.
    pub fn new(shown: T, digest: impl Into<String>) -> Self {
        Self { shown, digest: digest.into() }
    }
}

impl<T: IntoOutput> IntoOutput for Plan<T> {
    fn schema() -> Option<OutputSchema> {
        T::schema()
    }

    fn into_output(self) -> Result<Output, ToolError> {
        let mut output = self.shown.into_output()?;
        output.plan = Some(self.digest);
        Ok(output)
    }
}

//! How a tool fails: what the caller reads, and what only the log contains.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use candor_protocol::Era;
use candor_protocol::json::Object;
use candor_protocol::names::extension;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::{CallToolResult, Content};
use candor_schema::{Invalid, Violation};
use serde_json::{Value, json};

use crate::ask::AskError;
use crate::trace;

pub use candor_protocol::names::failure as code;

/// The text for the caller if only the log has the reason.
const HIDDEN: &str = "It failed unexpectedly; the server's log says why.";

/// A failure that the model should read: it becomes a result with `isError`.
///
/// Say what happened and what to do next. What the caller must not see belongs in [`ToolError::internal`]. Any error also converts
/// with `?`: its text goes to the log, and the caller learns only that something failed. Plain text does not convert:
/// `.map_err(ToolError::new)?` sends it to the caller, `.map_err(ToolError::internal)?` to the log.
///
/// ```
/// use std::time::Duration;
/// use candor_server::tool::ToolError;
/// use serde_json::json;
///
/// let error = ToolError::new("The invoice is still a draft")
///     .code("not_sent")
///     .instead("send_invoice", json!({"id": 7}))
///     .retry_after(Duration::from_secs(30));
/// assert_eq!(
///     error.to_string(),
///     "The invoice is still a draft. Call send_invoice with {\"id\":7} instead. Try again in 30 s.",
/// );
/// ```
#[derive(Debug)]
pub struct ToolError(Box<Failure>);

#[derive(Debug)]
struct Failure {
    code: Cow<'static, str>,
    message: Cow<'static, str>,
    /// For the log only.
    internal: Option<String>,
    retry: Retry,
    instead: Option<(String, Value)>,
    fields: Vec<Violation>,
    content: Vec<Content>,
    /// More for programs, from the framework.
    details: Vec<(&'static str, Value)>,
    /// The tool reports that nothing has happened.
    not_started: bool,
    /// A question had no answer; some clients receive that as a protocol error.
    asked: Option<AskError>,
}

/// Whether the same call may succeed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retry {
    Unknown,
    Never,
    After(Duration),
}

impl ToolError {
    /// Creates a failure with a message for the caller.
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Failure {
            code: code::FAILED.into(),
            message: message.into(),
            internal: None,
            retry: Retry::Unknown,
            instead: None,
            fields: Vec::new(),
            content: Vec::new(),
            details: Vec::new(),
            not_started: false,
            asked: None,
        }))
    }

    /// Creates a failure whose reason goes to the log only.
    pub fn internal(reason: impl fmt::Display) -> Self {
        let mut error = Self::new(HIDDEN).code(code::INTERNAL);
        error.0.internal = Some(reason.to_string());
        error
    }

    /// Creates the failure of invalid arguments.
    pub(crate) fn invalid(tool: &str, invalid: Invalid) -> Self {
        let message = format!("Invalid arguments for {tool}: {invalid}");
        let mut error = Self::new(message).code(code::INVALID_ARGUMENTS);
        error.0.fields = invalid.violations;
        error
    }

    /// Sets a stable word for programs: it should not change when the message does.
    #[must_use]
    pub fn code(mut self, code: impl Into<Cow<'static, str>>) -> Self {
        self.0.code = code.into();
        self
    }

    /// Adds a reason for the log only.
    #[must_use]
    pub fn log(mut self, reason: impl fmt::Display) -> Self {
        self.0.internal = Some(reason.to_string());
        self
    }

    /// Reports that the same call may succeed after this time.
    #[must_use]
    pub fn retry_after(mut self, time: Duration) -> Self {
        self.0.retry = Retry::After(time);
        self
    }

    /// Reports that the same call will never succeed.
    #[must_use]
    pub fn never_retry(mut self) -> Self {
        self.0.retry = Retry::Never;
        self
    }

    /// Reports that nothing has happened: the same call, with the same key, may start again. Use it only if you are sure. Without
    /// it, the failure of a call with a key is its outcome, and every retry receives it. Calls whose effect is safe to retry are an
    /// exception.
    #[must_use]
    pub fn not_started(mut self) -> Self {
        self.0.not_started = true;
        self
    }

    /// Returns true if the error only means "retry later".
    pub(crate) fn is_passing(&self) -> bool {
        matches!(
            &*self.0.code,
            code::APPROVAL_REQUIRED
                | code::IN_PROGRESS
                | code::LEDGER_UNAVAILABLE
                | code::RATE_LIMITED
                | code::BUSY
        )
    }

    /// Returns true if a reviewer or the policy denied the call, or if no reviewer can be asked.
    pub(crate) fn is_denial(&self) -> bool {
        [code::DENIED, code::APPROVAL_UNAVAILABLE].contains(&&*self.0.code)
    }

    /// Returns true if nothing has happened: the tool reports it, or it ended with an unanswered question. Before a question,
    /// handlers have no effect.
    pub(crate) fn is_not_started(&self) -> bool {
        self.0.not_started || self.0.asked.is_some()
    }

    /// Names the tool to call instead, or first. Adds a sentence about it, unless the message names the tool in backticks.
    #[must_use]
    pub fn instead(mut self, tool: impl Into<String>, arguments: Value) -> Self {
        self.0.instead = Some((tool.into(), arguments));
        self
    }

    /// Adds what is wrong with one argument, named by its JSON Pointer: `"/invoice/id"`.
    #[must_use]
    pub fn field(self, pointer: impl Into<String>, problem: impl Into<String>) -> Self {
        self.violation(Violation::new(pointer, problem))
    }

    /// Adds what is wrong with one argument, with what was expected and which values are allowed.
    ///
    /// ```
    /// use candor_server::tool::{ToolError, Violation};
    ///
    /// let room = Violation::new("/room", "there is no room 9").allowing([1.into(), 2.into()]);
    /// assert_eq!(ToolError::new("Not booked").violation(room).to_string(), "Not booked. /room: there is no room 9.");
    /// ```
    #[must_use]
    pub fn violation(mut self, violation: Violation) -> Self {
        self.0.fields.push(violation);
        self
    }

    pub(crate) fn detail(mut self, name: &'static str, value: Value) -> Self {
        self.0.details.push((name, value));
        self
    }

    /// Marks the error as the framework's, not the tool's. Programs can tell, whatever code a tool has chosen for itself.
    pub(crate) fn by_server(self) -> Self {
        self.detail("raisedBy", "server".into())
    }

    pub(crate) fn fields(&self) -> &[Violation] {
        &self.0.fields
    }

    /// Adds content to the message, such as an image or a link.
    #[must_use]
    pub fn content(mut self, content: impl IntoIterator<Item = Content>) -> Self {
        self.0.content.extend(content);
        self
    }

    /// Returns the protocol error for a client of this era, if this is one.
    pub(crate) fn protocol_error(&self, era: Era) -> Option<ErrorObject> {
        self.0.asked.as_ref().and_then(|asked| asked.protocol_error(era))
    }

    /// Returns the result that the caller gets, and logs the failure.
    pub(crate) fn into_result(self, tool: &str) -> CallToolResult {
        let (code, trace_id) = (&*self.0.code, trace::id());
        match &self.0.internal {
            Some(reason) => {
                trace::note(reason);
                tracing::error!(tool, code, reason, trace_id, "a tool failed");
            }
            None => tracing::info!(tool, code, trace_id, "a call has failed"),
        }
        let mut content = vec![Content::text(self.to_string())];
        content.extend(self.0.content.iter().cloned());
        let mut result = CallToolResult::new(content);
        result.is_error = Some(true);
        result.meta = Some(Object::new().with(extension::ERROR, &self.told()));
        result
    }

    /// Returns what to do next, one sentence each.
    fn advice(&self) -> Vec<String> {
        let failure = &self.0;
        let mut advice = Vec::new();
        // The message of invalid arguments names them already.
        if failure.code != code::INVALID_ARGUMENTS {
            let said =
                |v: &Violation| format!("{}: {}.", v.pointer, v.problem.trim_end_matches('.'));
            advice.extend(failure.fields.iter().map(said));
        }
        match &failure.instead {
            None => {}
            Some((tool, _)) if failure.message.contains(&format!("`{tool}`")) => {}
            Some((tool, Value::Object(members))) if !members.is_empty() => {
                advice.push(format!("Call {tool} with {} instead.", json!(members)));
            }
            Some((tool, _)) => advice.push(format!("Call {tool} instead.")),
        }
        match failure.retry {
            Retry::Unknown => {}
            // The message already asks to resolve it first.
            Retry::Never if failure.code == code::OUTCOME_UNKNOWN => {}
            Retry::Never => advice.push("Do not try the same call again.".to_owned()),
            Retry::After(time) => {
                advice.push(format!("Try again in {} s.", time.as_secs_f64().ceil()));
            }
        }
        advice
    }

    /// Returns the details for programs, with the trace ID that the log has.
    fn told(&self) -> Value {
        let mut told = self.details();
        told["traceId"] = trace::id().into();
        told
    }

    /// Returns what is wrong and what to do, for programs.
    fn details(&self) -> Value {
        let failure = &self.0;
        let mut details = json!({"code": failure.code});
        match failure.retry {
            Retry::Unknown => {}
            Retry::Never => details["retriable"] = false.into(),
            Retry::After(time) => {
                details["retriable"] = true.into();
                let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                details["retryAfterMs"] = millis.into();
            }
        }
        for (name, value) in &failure.details {
            details[*name] = value.clone();
        }
        if let Some((tool, arguments)) = &failure.instead {
            details["instead"] = json!({"tool": tool, "arguments": arguments});
        }
        if !failure.fields.is_empty() {
            details["fields"] = fields(&failure.fields);
        }
        details
    }

    /// Returns a protocol error, for resources and prompts, whose results cannot be errors. Logs the failure.
    pub(crate) fn into_protocol_error(self, era: Era) -> ErrorObject {
        if let Some(error) = self.protocol_error(era) {
            return error;
        }
        if let Some(reason) = &self.0.internal {
            trace::note(reason);
            let (code, trace_id) = (&*self.0.code, trace::id());
            tracing::error!(code, reason, trace_id, "a handler failed");
        }
        ErrorObject::internal(self.to_string()).with_data(&json!({extension::ERROR: self.told()}))
    }
}

/// Returns what is wrong with single arguments, for programs.
pub(crate) fn fields(violations: &[Violation]) -> Value {
    let field = |violation: &Violation| {
        let mut field = json!({"pointer": violation.pointer, "problem": violation.problem});
        if let Some(expected) = &violation.expected {
            field["expected"] = expected.as_str().into();
        }
        if !violation.valid_values.is_empty() {
            field["validValues"] = violation.valid_values.clone().into();
        }
        field
    };
    violations.iter().map(field).collect()
}

impl fmt::Display for ToolError {
    /// Writes what the caller reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failure = &self.0;
        f.write_str(&failure.message)?;
        let advice = self.advice();
        if !advice.is_empty() && !failure.message.ends_with(['.', '!', '?', ':']) {
            f.write_str(".")?;
        }
        advice.iter().try_for_each(|sentence| write!(f, " {sentence}"))
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for ToolError {
    /// Converts any error, for `?`. Its text, with its sources, goes to the log only. An [`AskError`] is for the caller.
    fn from(error: E) -> Self {
        let error: Box<dyn std::error::Error + Send + Sync> = Box::new(error);
        match error.downcast::<AskError>() {
            // A mistake of the handler's author, not of the caller.
            Ok(asked) if matches!(*asked, AskError::NotAForm(_)) => Self::internal(asked),
            Ok(asked) => {
                let mut failure = Self::new(asked.to_string());
                failure.0.asked = Some(*asked);
                failure
            }
            Err(error) => {
                let mut text = error.to_string();
                let mut reason = error.source();
                while let Some(next) = reason {
                    text = format!("{text}: {next}");
                    reason = next.source();
                }
                Self::internal(text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(error: ToolError) -> String {
        serde_json::to_string(&error.into_result("t")).unwrap()
    }

    #[test]
    fn text_of_a_foreign_error_is_hidden() {
        fn fails() -> Result<(), ToolError> {
            std::fs::read("/no/such/secret/place")?;
            Ok(())
        }
        let shown = text(fails().unwrap_err());
        assert!(shown.contains(HIDDEN) && !shown.contains("No such file"), "{shown}");
        assert!(shown.contains(r#""code":"internal""#), "{shown}");
    }

    #[test]
    fn field_problem_ends_with_one_period() {
        let error = ToolError::new("It cannot be written.").field("/text", "The disk is full.");
        assert_eq!(error.to_string(), "It cannot be written. /text: The disk is full.");
    }

    #[test]
    fn message_that_names_the_alternative_is_not_extended() {
        let error = ToolError::new("Cannot delete it. Call `void_it` instead.")
            .instead("void_it", json!({"id": 7}));
        assert_eq!(error.to_string(), "Cannot delete it. Call `void_it` instead.");
        assert_eq!(error.details()["instead"]["tool"], "void_it");
        let other = ToolError::new("See `void_it_all`").instead("void_it", json!({}));
        assert_eq!(other.to_string(), "See `void_it_all`. Call void_it instead.");
    }

    #[test]
    fn advice_is_in_the_text_and_in_the_details() {
        let error = ToolError::new("No such invoice")
            .code("not_found")
            .field("/id", "there is no invoice 7")
            .instead("list_invoices", json!({}))
            .never_retry();
        assert_eq!(
            error.to_string(),
            "No such invoice. /id: there is no invoice 7. Call list_invoices instead. Do not try the same call again."
        );
        let details = error.details();
        assert_eq!(
            details,
            json!({
                "code": "not_found",
                "retriable": false,
                "instead": {"tool": "list_invoices", "arguments": {}},
                "fields": [{"pointer": "/id", "problem": "there is no invoice 7"}],
            })
        );
    }
}

//! How a tool fails: what the caller reads, and what only the log contains.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use candor_protocol::json::Object;
use candor_protocol::names::extension;
use candor_protocol::types::{CallToolResult, Content};
use candor_schema::{Invalid, Violation};
use serde_json::{Value, json};

use super::{AskError, Refusal, code};
use crate::trace;

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
    /// The tool reports that nothing has happened.
    not_started: bool,
    /// A question had no answer; some clients receive that as a protocol error.
    asked: Option<AskError>,
    /// The server's own reason, if the failure is not the tool's.
    refusal: Option<Refusal>,
}

/// Whether the same call may succeed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// It is not known.
    Unknown,
    /// It never succeeds.
    Never,
    /// It may succeed after this time.
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
            not_started: false,
            asked: None,
            refusal: None,
        }))
    }

    /// Creates a failure whose reason goes to the log only.
    pub fn internal(reason: impl fmt::Display) -> Self {
        let mut error = Self::new(HIDDEN).code(code::INTERNAL);
        error.0.internal = Some(reason.to_string());
        error
    }

    /// Creates the failure of invalid arguments.
    pub fn invalid(tool: &str, invalid: Invalid) -> Self {
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

    /// Returns the stable word for programs.
    #[must_use]
    pub fn error_code(&self) -> &str {
        &self.0.code
    }

    /// Returns whether the same call may succeed later.
    #[must_use]
    pub fn retry(&self) -> Retry {
        self.0.retry
    }

    /// Returns the tool to call instead, or first, with its arguments.
    #[must_use]
    pub fn alternative(&self) -> Option<(&str, &Value)> {
        self.0.instead.as_ref().map(|(tool, arguments)| (&**tool, arguments))
    }

    /// Returns the server's own reason, if the failure is not the tool's: its handler took too long, or its response has no
    /// capacity.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        self.0.refusal.as_ref()
    }

    /// Returns why a question of the handler has no answer, if that is the failure.
    #[must_use]
    pub fn unanswered(&self) -> Option<&AskError> {
        self.0.asked.as_ref()
    }

    /// Returns what is wrong with single arguments.
    #[must_use]
    pub fn fields(&self) -> &[Violation] {
        &self.0.fields
    }

    /// Adds content to the message, such as an image or a link.
    #[must_use]
    pub fn content(mut self, content: impl IntoIterator<Item = Content>) -> Self {
        self.0.content.extend(content);
        self
    }

    /// Returns the result that the caller gets, and logs the failure.
    #[must_use]
    pub fn into_result(self, tool: &str) -> CallToolResult {
        self.to_result(tool)
    }

    /// Logs the failure of a call.
    pub fn note(&self, tool: &str) {
        let (code, trace_id) = (&*self.0.code, trace::id());
        match &self.0.internal {
            Some(reason) => {
                trace::note(reason);
                tracing::error!(tool, code, reason, trace_id, "a tool failed");
            }
            None => tracing::info!(tool, code, trace_id, "a call has failed"),
        }
    }

    fn to_result(&self, tool: &str) -> CallToolResult {
        self.note(tool);
        let mut content = vec![Content::text(self.to_string())];
        content.extend(self.0.content.iter().cloned());
        let mut result = CallToolResult::new(content);
        result.is_error = Some(true);
        result.meta = Some(Object::new().with(extension::ERROR, &self.told()));
        result
    }

    /// Returns the result that the caller gets, and the server's own reason if there is one. Logs the failure.
    pub(crate) fn into_result_and_refusal(
        mut self,
        tool: &str,
    ) -> (CallToolResult, Option<Refusal>) {
        // The details need the refusal, so it is taken afterward.
        let result = self.to_result(tool);
        (result, self.0.refusal.take())
    }

    /// Returns what a caller reads of a refusal.
    pub(crate) fn text_of(refusal: &Refusal) -> String {
        let row = refusal.row();
        let mut error = Self::new(refusal.words()).code(row.code);
        error.0.retry = row.retry;
        error.0.instead = refusal.instead().map(|(tool, args)| (tool.to_owned(), args.clone()));
        error.to_string()
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
        if let Some(refusal) = &failure.refusal {
            for (name, value) in refusal.details() {
                details[name] = value;
            }
            // Programs can tell, whatever code a tool has chosen for itself.
            details["raisedBy"] = "server".into();
        }
        if let Some((tool, arguments)) = &failure.instead {
            details["instead"] = json!({"tool": tool, "arguments": arguments});
        }
        if !failure.fields.is_empty() {
            details["fields"] = violations_as_json(&failure.fields);
        }
        details
    }

    /// Logs the failure of a handler whose result cannot be an error, and returns the details for programs.
    #[must_use]
    pub fn report(&self) -> Value {
        if let Some(reason) = &self.0.internal {
            trace::note(reason);
            let (code, trace_id) = (&*self.0.code, trace::id());
            tracing::error!(code, reason, trace_id, "a handler failed");
        }
        self.told()
    }
}

/// Returns what is wrong with single arguments, for programs.
#[must_use]
pub fn violations_as_json(violations: &[Violation]) -> Value {
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

impl From<Refusal> for ToolError {
    /// Converts a refusal into the error that models read.
    fn from(refusal: Refusal) -> Self {
        if let Refusal::PreviewFailed(error) = refusal {
            return error;
        }
        let row = refusal.row();
        let mut error = Self::new(refusal.words()).code(row.code);
        error.0.retry = row.retry;
        error.0.fields = refusal.violations();
        error.0.instead = refusal.instead().map(|(tool, args)| (tool.to_owned(), args.clone()));
        error.0.internal = refusal.internal_reason();
        // Nothing was run: the handler is told before it has any effect.
        error.0.not_started = matches!(refusal, Refusal::ResponseCapacity(_));
        error.0.refusal = Some(refusal);
        error
    }
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

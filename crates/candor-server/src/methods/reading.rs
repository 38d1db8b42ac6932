//! Prepares a call: from the arguments as sent to the code that would run, and the effect of the call.
//!
//! `tools/call` uses these functions, and so do requests that only explain a call (`tools/annotations`, `tools/resolve`, a page).
//! So all of them accept the same calls and evaluate the same effect.

use candor_ledger::Key;
use candor_protocol::json::{Json, Object};
use candor_protocol::rpc::ErrorObject;
use candor_schema::Violation;
use serde_json::json;

use crate::admission::plan;
use crate::arguments::Arguments;
use crate::engine::Engine;
use crate::exchange::RequestContext;
use crate::ledger::key;
use crate::tool::{
    Evaluated, EvaluatorFailed, Idempotency, Invalid, Prepared, RegisteredTool, ResolvedTool,
    ToolError, code, fields,
};

/// Decodes the arguments once. All later stages share them.
pub(crate) fn decode(sent: Option<Json<'_>>) -> Result<Arguments, ErrorObject> {
    Arguments::decode(sent)
        .map_err(|problem| ErrorObject::invalid_params(format!("Invalid params: {problem}")))
}

/// Returns the key that the client sent beside the arguments. A server without a ledger ignores it.
pub(crate) fn key_beside(
    engine: &Engine,
    exchange: &RequestContext,
    params: &Object,
) -> Result<Option<Key>, ErrorObject> {
    engine.ledger().map_or(Ok(None), |_| key::beside(exchange, params))
}

pub(crate) fn unknown(name: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("Unknown tool: {name}")).with_data(&json!({"tool": name}))
}

/// A call that cannot run as sent, with the reason.
pub(crate) struct InvalidCall {
    wrong: InvalidReason,
    /// The arguments, if the server could read them.
    pub(crate) arguments: Option<Arguments>,
}

enum InvalidReason {
    /// The tool does not accept its arguments.
    Invalid(Invalid),
    /// Its key or its plan token is invalid.
    Refused(ToolError),
}

impl InvalidCall {
    fn invalid(invalid: Invalid, arguments: Option<Arguments>) -> Box<Self> {
        Box::new(Self { wrong: InvalidReason::Invalid(invalid), arguments })
    }

    fn refused(error: ToolError, arguments: Arguments) -> Box<Self> {
        Box::new(Self { wrong: InvalidReason::Refused(error), arguments: Some(arguments) })
    }

    /// Returns the error for a call.
    pub(crate) fn into_tool_error(self, tool: &str) -> ToolError {
        match self.wrong {
            InvalidReason::Invalid(invalid) => ToolError::invalid(tool, invalid),
            InvalidReason::Refused(error) => error,
        }
    }

    /// Returns the error for a request that explains a call.
    pub(crate) fn into_protocol_error(self, tool: &str) -> ErrorObject {
        match self.wrong {
            InvalidReason::Invalid(invalid) => {
                let problem = format!("Invalid params: arguments for {tool}: {invalid}");
                let about = json!({"tool": tool, "fields": fields(&invalid.violations)});
                ErrorObject::invalid_params(problem).with_data(&about)
            }
            InvalidReason::Refused(error) => {
                ErrorObject::invalid_params(format!("Invalid params: {error}"))
            }
        }
    }

    /// Returns the violations, for a call that the user is still writing.
    pub(crate) fn into_violations(self) -> Vec<Violation> {
        match self.wrong {
            InvalidReason::Invalid(invalid) => invalid.violations,
            InvalidReason::Refused(error) => violations(&error),
        }
    }
}

/// Returns the violations that an error names, or one for the whole call.
pub(crate) fn violations(error: &ToolError) -> Vec<Violation> {
    match error.fields() {
        [] => vec![Violation::new("", error.to_string())],
        fields => fields.to_vec(),
    }
}

/// A decoded call, not validated yet. The arguments that the framework adds to a tool (key, plan token) are taken out.
pub(crate) struct DecodedCall<'t> {
    entry: &'t RegisteredTool,
    pub(crate) arguments: Arguments,
    pub(crate) key: Option<Key>,
    /// The plan token that the caller sent.
    pub(crate) token: Option<String>,
}

impl<'t> DecodedCall<'t> {
    pub(crate) fn from(
        found: &ResolvedTool<'t>,
        sent: Arguments,
        beside: Option<Key>,
        exchange: &RequestContext,
    ) -> Result<Self, Box<InvalidCall>> {
        let entry: &RegisteredTool = found.entry;
        let mut arguments =
            found.complete(sent).map_err(|wrong| InvalidCall::invalid(wrong, None))?;
        let key = match key::take(entry, &mut arguments, beside) {
            Ok(key) => key,
            Err(error) => return Err(InvalidCall::refused(error, arguments)),
        };
        let token = match plan::take(entry, &mut arguments, exchange) {
            Ok(token) => token,
            Err(error) => return Err(InvalidCall::refused(error, arguments)),
        };
        Ok(Self { entry, arguments, key, token })
    }

    /// Returns true if the tool requires a key and the call has none.
    pub(crate) fn lacks_key(&self) -> bool {
        self.key.is_none() && self.entry.idempotency == Idempotency::Required
    }

    /// Validates and prepares the call.
    pub(crate) fn ready(self) -> Result<PreparedCall<'t>, Box<InvalidCall>> {
        let Self { entry, arguments, key, token } = self;
        let prepared = validate(entry, &arguments)?;
        match derived(entry, &*prepared).and_then(|derived| key::agreed(derived, key)) {
            Ok(key) => Ok(PreparedCall { entry, arguments, key, token, prepared: Some(prepared) }),
            Err(error) => Err(InvalidCall::refused(error, arguments)),
        }
    }
}

/// A valid call that is ready to run.
pub(crate) struct PreparedCall<'t> {
    entry: &'t RegisteredTool,
    pub(crate) arguments: Arguments,
    /// The caller's key, or one that the tool's author derives from the arguments.
    pub(crate) key: Option<Key>,
    pub(crate) token: Option<String>,
    /// `None` if an evaluator took it and did not return it.
    prepared: Option<Box<dyn Prepared>>,
}

impl PreparedCall<'_> {
    /// Evaluates the call's effect, without regard to its key.
    pub(crate) async fn evaluate(&mut self) -> Result<Evaluated, EvaluatorFailed> {
        let Some(prepared) = self.prepared.take() else { return Err(EvaluatorFailed) };
        let (prepared, evaluated) = self.entry.effects.of(&self.arguments, prepared).await;
        self.prepared = prepared;
        evaluated
    }

    /// Returns the prepared call to run: the evaluated one, or a new one if the evaluator did not return it.
    pub(crate) fn prepared(&mut self) -> Result<Box<dyn Prepared>, Box<InvalidCall>> {
        self.prepared.take().map_or_else(|| validate(self.entry, &self.arguments), Ok)
    }
}

fn validate(
    entry: &RegisteredTool,
    arguments: &Arguments,
) -> Result<Box<dyn Prepared>, Box<InvalidCall>> {
    entry
        .input
        .check(arguments)
        .and_then(|()| entry.tool.prepare(arguments.clone()))
        .map_err(|invalid| InvalidCall::invalid(invalid, Some(arguments.clone())))
}

/// Returns the key that the tool's author derives from the arguments, if the tool derives keys.
fn derived(entry: &RegisteredTool, prepared: &dyn Prepared) -> Result<Option<Key>, ToolError> {
    if entry.idempotency != Idempotency::Derived {
        return Ok(None);
    }
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| prepared.key()));
    let made = made.ok().flatten().ok_or("its key could not be made".to_owned());
    made.and_then(|text| Key::new(text).map_err(|bad| bad.to_string())).map(Some).map_err(|why| {
        ToolError::new("The server cannot derive a key from these arguments. Nothing was run.")
            .code(code::KEY_INVALID)
            .log(why)
    })
}

//! Reading a call: from the arguments as they were sent to what would run, and what that would do.
//!
//! `tools/call` reads a call here, and so does whoever only asks about one (`tools/annotations`, `tools/resolve`, a page): what the
//! one accepts the others accept, and what they foresee is what it does.

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

/// The arguments, decoded once and shared by everything after this.
pub(crate) fn decode(sent: Option<Json<'_>>) -> Result<Arguments, ErrorObject> {
    Arguments::decode(sent)
        .map_err(|problem| ErrorObject::invalid_params(format!("Invalid params: {problem}")))
}

/// The key that was sent beside the arguments. Where nothing is remembered it is not looked at.
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

/// Why a call cannot be made as it was sent.
pub(crate) struct InvalidCall {
    wrong: InvalidReason,
    /// As far as they could be read.
    pub(crate) arguments: Option<Arguments>,
}

enum InvalidReason {
    /// Its arguments are not what the tool takes.
    Invalid(Invalid),
    /// What came with them is wrong: a key, a token.
    Refused(ToolError),
}

impl InvalidCall {
    fn invalid(invalid: Invalid, arguments: Option<Arguments>) -> Box<Self> {
        Box::new(Self { wrong: InvalidReason::Invalid(invalid), arguments })
    }

    fn refused(error: ToolError, arguments: Arguments) -> Box<Self> {
        Box::new(Self { wrong: InvalidReason::Refused(error), arguments: Some(arguments) })
    }

    /// For whoever called.
    pub(crate) fn into_tool_error(self, tool: &str) -> ToolError {
        match self.wrong {
            InvalidReason::Invalid(invalid) => ToolError::invalid(tool, invalid),
            InvalidReason::Refused(error) => error,
        }
    }

    /// For whoever asks what a call would do.
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

    /// For whoever is still writing it.
    pub(crate) fn into_violations(self) -> Vec<Violation> {
        match self.wrong {
            InvalidReason::Invalid(invalid) => invalid.violations,
            InvalidReason::Refused(error) => violations(&error),
        }
    }
}

/// What an error says field by field, or as a whole.
pub(crate) fn violations(error: &ToolError) -> Vec<Violation> {
    match error.fields() {
        [] => vec![Violation::new("", error.to_string())],
        fields => fields.to_vec(),
    }
}

/// A call with its arguments as the tool's schema means them: what the framework has put among them was taken out.
pub(crate) struct DecodedCall<'t> {
    entry: &'t RegisteredTool,
    pub(crate) arguments: Arguments,
    pub(crate) key: Option<Key>,
    /// The token of the preview that was looked at.
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

    /// Whether there is no key where one must be.
    pub(crate) fn lacks_key(&self) -> bool {
        self.key.is_none() && self.entry.idempotency == Idempotency::Required
    }

    /// Validates it, and makes it ready.
    pub(crate) fn ready(self) -> Result<PreparedCall<'t>, Box<InvalidCall>> {
        let Self { entry, arguments, key, token } = self;
        let prepared = validate(entry, &arguments)?;
        match derived(entry, &*prepared).and_then(|derived| key::agreed(derived, key)) {
            Ok(key) => Ok(PreparedCall { entry, arguments, key, token, prepared: Some(prepared) }),
            Err(error) => Err(InvalidCall::refused(error, arguments)),
        }
    }
}

/// A call that could be made.
pub(crate) struct PreparedCall<'t> {
    entry: &'t RegisteredTool,
    pub(crate) arguments: Arguments,
    /// Whoever it is from: the caller, or the tool's author.
    pub(crate) key: Option<Key>,
    pub(crate) token: Option<String>,
    /// Absent while an evaluator does not let go of it.
    prepared: Option<Box<dyn Prepared>>,
}

impl PreparedCall<'_> {
    /// What it does by its nature, that is, whether or not it has a key.
    pub(crate) async fn foresee(&mut self) -> Result<Evaluated, EvaluatorFailed> {
        let Some(prepared) = self.prepared.take() else { return Err(EvaluatorFailed) };
        let (prepared, evaluated) = self.entry.effects.of(&self.arguments, prepared).await;
        self.prepared = prepared;
        evaluated
    }

    /// What runs: what was foreseen, wherever that is still there.
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

/// The key that a tool's author makes of the arguments.
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

//! Protocol errors, as functions of what the engine refused or failed at.

use candor_engine::resource::ResourceFailure;
use candor_engine::tool::{ToolError, Violation};
use candor_engine::{AskError, AtCapacity, Refusal, RequestFailure, violations_as_json};
use candor_protocol::Era;
use candor_protocol::json::{Decode as _, Object};
use candor_protocol::names::{extension, failure};
use candor_protocol::rpc::{ErrorObject, code};
use candor_schema::Invalid;
use serde_json::json;

/// Returns the error for a refusal that is no result. Models read most refusals as results, so that they can act on them.
pub(crate) fn of_refusal(refusal: &Refusal) -> Option<ErrorObject> {
    Some(match refusal {
        Refusal::UnknownTool(name) => {
            ErrorObject::invalid_params(refusal.words()).with_data(&json!({"tool": name}))
        }
        Refusal::ToolsUnavailable | Refusal::Internal => ErrorObject::internal(refusal.words()),
        Refusal::TooManyQuestions { wait } => {
            let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            let data = json!({"code": "busy", "scope": "caller", "retryAfterMs": wait});
            ErrorObject::new(code::BUSY, refusal.words()).with_data(&data)
        }
        Refusal::ResponseDropped { bytes, scope } => unheld(*scope, *bytes),
        Refusal::ResumeUnknown | Refusal::ResumeInvalid => {
            ErrorObject::invalid_params(refusal.words())
        }
        _ => return None,
    })
}

/// Returns the error for a refusal where no result can say it.
pub(crate) fn refused(refusal: Refusal) -> ErrorObject {
    of_refusal(&refusal).unwrap_or_else(|| {
        let error = ToolError::from(refusal);
        ErrorObject::invalid_params(format!("Invalid params: {error}"))
    })
}

/// Returns the error for a request that explains a call with invalid arguments. `tool`: the name that the client sent.
pub(crate) fn unexplained(tool: &str, refusal: Refusal) -> ErrorObject {
    match refusal {
        Refusal::InvalidArguments { invalid, .. } => {
            let problem = format!("Invalid params: arguments for {tool}: {invalid}");
            let fields = violations_as_json(&invalid.violations);
            ErrorObject::invalid_params(problem).with_data(&json!({"tool": tool, "fields": fields}))
        }
        other => refused(other),
    }
}

/// Returns the error that replaces a response without capacity. Its handler has ended by then.
pub(crate) fn unheld(full: AtCapacity, bytes: usize) -> ErrorObject {
    let words = Refusal::ResponseDropped { bytes, scope: full }.words();
    let data = Object::new().with("code", failure::RESULT_TOO_LARGE);
    ErrorObject::internal(words).with_data(&data)
}

/// Returns the error for a request without a slot. Nothing was run, so the caller may send the request again.
pub(crate) fn at_capacity(full: AtCapacity) -> ErrorObject {
    match full {
        AtCapacity::Everybody => ErrorObject::busy(),
        AtCapacity::Caller => {
            let words = "You have reached your limit of concurrent requests. Nothing was run. Send the request again when others end.";
            let data = Object::new().with("code", "busy").with("scope", "caller");
            ErrorObject::new(code::BUSY, words).with_data(&data)
        }
    }
}

/// Returns the error for a question without an answer, for clients that get one instead of a result.
pub(crate) fn unanswerable(error: &AskError) -> Option<ErrorObject> {
    match error {
        AskError::NotSupported(needed) => Some(
            ErrorObject::new(
                code::MISSING_CLIENT_CAPABILITY,
                "The request needs a capability that the client did not declare",
            )
            .with_data(&json!({"requiredCapabilities": needed})),
        ),
        AskError::Malformed(problem) => {
            Some(ErrorObject::invalid_params(format!("Invalid params: inputResponses: {problem}")))
        }
        _ => None,
    }
}

/// Returns the error for a handler whose result cannot be an error: a resource, a prompt, a completion. Logs the failure.
pub(crate) fn failed(error: &ToolError, era: Era) -> ErrorObject {
    let unanswered = error.unanswered().filter(|_| era == Era::Modern);
    if let Some(error) = unanswered.and_then(unanswerable) {
        return error;
    }
    ErrorObject::internal(error.to_string()).with_data(&json!({extension::ERROR: error.report()}))
}

/// The text that the client receives if the handler panicked.
const PANICKED: &str = "It failed unexpectedly; the server's log says why.";

/// The text that the client receives if the handler took too long and was stopped.
const TOOK_TOO_LONG: &str =
    "It took too long and was stopped; what it had done by then is not known.";

/// Returns the error for a request about a prompt, a resource or a completion.
pub(crate) fn of_failure(failure: RequestFailure, uri: &str, era: Era) -> ErrorObject {
    match failure {
        RequestFailure::UnknownPrompt(name) => {
            ErrorObject::invalid_params(format!("Unknown prompt: {name}"))
        }
        RequestFailure::MissingArgument(name) => ErrorObject::invalid_params(format!(
            "Invalid params: the prompt needs the argument {name:?}"
        )),
        RequestFailure::InvalidArguments(invalid) => invalid_prompt(invalid),
        RequestFailure::PromptsUnavailable => {
            ErrorObject::internal("The server could not get its prompts")
        }
        RequestFailure::Resource(failure) => of_resource(failure, uri, era, true),
        RequestFailure::Busy(full) => at_capacity(full),
        RequestFailure::Refused(refusal) => refused(refusal),
        RequestFailure::Failed(error) => failed(&error, era),
        RequestFailure::TimedOut => ErrorObject::internal(TOOK_TOO_LONG),
        _ => ErrorObject::internal(PANICKED),
    }
}

/// Returns the error for arguments that a prompt's types reject. Its pointers start at the request's parameters.
fn invalid_prompt(mut invalid: Invalid) -> ErrorObject {
    let within = |violation: &mut Violation| violation.pointer.insert_str(0, "/arguments");
    invalid.violations.iter_mut().for_each(within);
    let data = json!({extension::ERROR: {"fields": violations_as_json(&invalid.violations)}});
    ErrorObject::invalid_params(format!("Invalid params: {invalid}")).with_data(&data)
}

/// Returns the error for a request about a resource. `core` is true for methods that the published protocol has.
pub(crate) fn of_resource(
    failure: ResourceFailure,
    uri: &str,
    era: Era,
    core: bool,
) -> ErrorObject {
    // Without the URI as data: official clients take that to mean that the resource does not exist.
    let invalid = |code: &str, problem: &str| {
        let data = json!({extension::ERROR: {"code": code}});
        ErrorObject::invalid_params(problem).with_data(&data)
    };
    match failure {
        ResourceFailure::NoUri(problem) => {
            invalid("not_a_uri", &format!("Invalid params: /uri is not a URI: {problem}"))
        }
        // The code differs by era; the modern revision forbids the old one.
        ResourceFailure::NotFound => {
            let code = match era {
                Era::Legacy if core => code::RESOURCE_NOT_FOUND,
                _ => code::INVALID_PARAMS,
            };
            ErrorObject::new(code, "Resource not found").with_data(&json!({"uri": uri}))
        }
        ResourceFailure::NotListable => invalid(
            "not_listable",
            "This resource has no children to list: its capabilities.list is not true",
        ),
        ResourceFailure::NotWatchable => invalid(
            "not_watchable",
            "This resource cannot be watched: its capabilities.subscribe is not true",
        ),
        ResourceFailure::Failed(error) => failed(&error, era),
        ResourceFailure::Broken if uri.is_empty() => {
            ErrorObject::internal("The server could not get its resources; its log says why")
        }
        ResourceFailure::Broken => {
            ErrorObject::internal("The server could not answer for this resource; its log says why")
                .with_data(&json!({"uri": uri}))
        }
    }
}

/// Adds the trace id to an internal error. Returns other errors unchanged.
pub(crate) fn with_trace(error: ErrorObject, trace_id: impl FnOnce() -> String) -> ErrorObject {
    if error.code() != code::INTERNAL_ERROR {
        return error;
    }
    let data = error.data.as_deref().and_then(|data| Object::decode(data.into()).ok());
    let data = data.unwrap_or_default();
    if data.get(extension::ERROR).is_some() {
        return error;
    }
    let data = data.with(extension::ERROR, &json!({"code": "internal", "traceId": trace_id()}));
    error.with_data(&data)
}

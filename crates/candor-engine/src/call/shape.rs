//! Shapes the end of a handler into a result that any client may see.

use std::sync::Arc;

use candor_ledger::OutcomeKind;
use serde_json::Value;

use crate::ctx::attempt::AttemptEnd;
use crate::error::{AskError, Refusal, ToolError, code};
use crate::peer::QuestionChannel;
use crate::plans::Signer;
use crate::record::keyed::HandlerResult;
use crate::tool::{Output, RegisteredTool};

/// What shaping needs, collected before the handler runs.
pub(super) struct ResultShaper {
    pub(super) entry: Arc<RegisteredTool>,
    /// When the caller's client can answer questions.
    pub(super) channel: QuestionChannel,
    /// For a preview: signs its result.
    pub(super) signer: Option<Signer>,
}

impl ResultShaper {
    /// Shapes the end of a handler into a result that any client may see.
    pub(super) fn shape(&self, ran: AttemptEnd<Result<Output, ToolError>>) -> HandlerResult {
        let outcome = match ran {
            AttemptEnd::Done(outcome) => outcome,
            AttemptEnd::Asks(questions) => return HandlerResult::Asks(questions),
            AttemptEnd::Parks(questions) => return HandlerResult::Parks(questions),
            AttemptEnd::Panicked => Err(panicked()),
            AttemptEnd::TookTooLong => Err(Refusal::TimedOut.into()),
        };
        let name = self.entry.name();
        let error = match outcome.map(|output| (broken_promise(&self.entry, &output), output)) {
            Ok((None, output)) => return self.sent(output),
            Ok((Some(violation), _)) => {
                let error = ToolError::new(
                    "The call ran. Its result does not match the output schema of the tool.",
                )
                .code(code::RESULT_INVALID)
                .log(violation);
                let result = error.into_result(name);
                return HandlerResult::Result {
                    result,
                    kind: OutcomeKind::Invalid,
                    not_started: false,
                    refusal: None,
                };
            }
            Err(error) => error,
        };
        let cannot_answer =
            matches!(error.unanswered(), Some(AskError::NotSupported(_) | AskError::Malformed(_)));
        if cannot_answer && self.channel == QuestionChannel::NextRequest {
            return HandlerResult::Unanswerable(error);
        }
        let not_started = error.is_not_started();
        let (result, refusal) = error.into_result_and_refusal(name);
        HandlerResult::Result { result, kind: OutcomeKind::Failure, not_started, refusal }
    }

    fn sent(&self, mut output: Output) -> HandlerResult {
        let failed = output.is_error();
        let kind = if failed { OutcomeKind::Failure } else { OutcomeKind::Success };
        let world = output.plan.take();
        let mut result = output.into_result();
        if let Some(signer) = self.signer.as_ref().filter(|_| !failed) {
            signer.sign(&mut result, world.as_deref());
        }
        HandlerResult::Result { result, kind, not_started: false, refusal: None }
    }
}

/// Returns the error for a handler that panicked. The caller gets a trace ID; the log line before has the reason.
pub(super) fn panicked() -> ToolError {
    ToolError::internal("it panicked, as the line before says")
}

/// Maximum nesting of structured content: client parsers fail not far above it.
const DEEPEST: usize = 100;

fn is_deeper(value: &Value, levels: usize) -> bool {
    let deeper = |inner: &Value| levels == 0 || is_deeper(inner, levels - 1);
    match value {
        Value::Array(items) => items.iter().any(deeper),
        Value::Object(members) => members.values().any(deeper),
        _ => false,
    }
}

/// Returns how a result breaks the tool's output schema or the nesting limit, if it does.
fn broken_promise(entry: &RegisteredTool, output: &Output) -> Option<String> {
    if output.structured.as_ref().is_some_and(|value| is_deeper(value, DEEPEST)) {
        return Some(format!("nested deeper than {DEEPEST} levels"));
    }
    let schema = entry.output.as_ref()?;
    if output.is_error() {
        return None;
    }
    match output.checked_value() {
        None => Some("there is no structured content".to_owned()),
        Some(value) => schema.check(&value).err().map(|invalid| invalid.to_string()),
    }
}

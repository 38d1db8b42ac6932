//! Takes the plan token of a call, and runs the preview of a call that has not started.

use candor_protocol::names::method;
use candor_protocol::types::CallToolResult;
use candor_schema::{Invalid, Violation};
use serde_json::Value;

use crate::ctx::Ctx;
use crate::ctx::attempt::{AttemptEnd, RunSubject, attempt_in_time};
use crate::ctx::round::Round;
use crate::error::{Refusal, ToolError};
use crate::plans::{Plans, StateDigest};
use crate::record::EvaluatedCall;
use crate::tool::{Arguments, Output, PLAN_ARGUMENT, RegisteredTool};

/// Maximum bytes of a preview: a reviewer reads no more before deciding.
const LONGEST_LOOK: usize = 16 * 1024;

/// Takes the plan token from the arguments, if the framework added one to the tool. `beside`: the token beside the arguments.
pub(super) fn take(
    entry: &RegisteredTool,
    arguments: &mut Arguments,
    beside: Option<String>,
) -> Result<Option<String>, Refusal> {
    if !entry.safeguards.requires_preview {
        return Ok(beside);
    }
    let invalid = |problem: &str| {
        let violation = Violation::new(format!("/{PLAN_ARGUMENT}"), problem)
            .expecting("the token that a preview has given");
        Err(Refusal::InvalidArguments {
            tool: entry.name().to_owned(),
            invalid: Invalid::from(violation),
        })
    };
    let among = match arguments.get(PLAN_ARGUMENT) {
        None | Some(Value::Null) => None,
        Some(Value::String(token)) => Some(token.clone()),
        Some(_) => return invalid("must be a string"),
    };
    arguments.remove(PLAN_ARGUMENT);
    match (among, beside) {
        (Some(among), Some(beside)) if among != beside => {
            invalid("is not the one that was sent beside the arguments")
        }
        (among, beside) => Ok(among.or(beside)),
    }
}

/// What a preview shows of a call that has not started.
pub(crate) struct PreviewRun {
    /// For the reviewer.
    pub(crate) text: String,
    /// The digest of the state that it read, if it reported one.
    pub(crate) state: StateDigest,
    /// Why it failed.
    pub(crate) error: Option<ToolError>,
}

impl PreviewRun {
    /// Runs the preview. If it fails, the text reports that: it may be the reason for a denial.
    pub(crate) async fn at(
        plans: &Plans,
        call: &EvaluatedCall<'_>,
        preview: &RegisteredTool,
    ) -> Self {
        let failed = |error: ToolError| Self {
            text: cut(format!("No preview: {error}")),
            state: None,
            error: Some(error),
        };
        match run(call, preview).await {
            Ok(AttemptEnd::Done(Ok(mut output))) => {
                let state = output.plan.take().map(|reported| plans.state(&reported));
                Self { text: cut(summary(&output.into_result())), state, error: None }
            }
            Ok(AttemptEnd::Done(Err(error))) | Err(error) => failed(error),
            Ok(
                AttemptEnd::Asks(_)
                | AttemptEnd::Parks(_)
                | AttemptEnd::Panicked
                | AttemptEnd::TookTooLong,
            ) => {
                let text = "No preview: it failed unexpectedly.".to_owned();
                Self { text, state: None, error: None }
            }
        }
    }
}

/// Returns the text of a result.
fn summary(result: &CallToolResult) -> String {
    let said =
        result.content.iter().map(|block| block.as_text().unwrap_or("(something that is no text)"));
    said.collect::<Vec<_>>().join("\n")
}

/// Cuts a text to what a reviewer reads, and reports how much is missing.
fn cut(text: String) -> String {
    if text.len() <= LONGEST_LOOK {
        return text;
    }
    let end = (0..=LONGEST_LOOK).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}\n(and {} bytes more, not shown)", &text[..end], text.len() - end)
}

/// Runs a preview with the arguments of a call. The caller receives no messages of it.
async fn run(
    call: &EvaluatedCall<'_>,
    preview: &RegisteredTool,
) -> Result<AttemptEnd<Result<Output, ToolError>>, ToolError> {
    let prepared = preview
        .input
        .check(call.arguments)
        .and_then(|()| preview.tool.prepare(call.arguments.clone()))
        .map_err(|invalid| ToolError::invalid(preview.name(), invalid))?;
    let ctx = Ctx::silent(call.request, Round::default());
    let subject = RunSubject { method: method::TOOLS_CALL, name: preview.name() };
    let ran = attempt_in_time(&ctx, subject, |ctx| prepared.run(ctx)).await;
    ctx.end().await;
    Ok(ran)
}

/// Returns the refusal for a plan whose state changed.
pub(crate) fn stale(preview: &RegisteredTool, call: &EvaluatedCall<'_>) -> Refusal {
    let arguments = call.arguments.as_value().clone();
    Refusal::PlanStale { preview: preview.name().to_owned(), arguments }
}

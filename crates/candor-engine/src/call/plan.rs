//! Plans: what a preview showed, and the check that a call follows it.
//!
//! A preview's result carries a token that is sealed for the caller, the current tool definition and the arguments. The token
//! proves that the caller saw the preview, not that the state is unchanged. The author's state digest proves that: the server
//! computes it again just before the start.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use candor_protocol::Principal;
use candor_protocol::names::{extension, method};
use candor_protocol::time::rfc3339;
use candor_protocol::types::{CallToolResult, Content};
use candor_schema::{Invalid, Violation};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::ctx::Ctx;
use crate::ctx::attempt::{AttemptEnd, RunSubject, attempt_in_time};
use crate::ctx::round::Round;
use crate::error::{Refusal, ToolError};
use crate::record::EvaluatedCall;
use crate::seal::Seal;
use crate::tool::{Arguments, Output, PLAN_ARGUMENT, RegisteredTool};

/// Maximum length of a token. The server's own tokens are shorter.
const LONGEST: usize = 512;

/// Maximum bytes of a preview: a reviewer reads no more before deciding.
const LONGEST_LOOK: usize = 16 * 1024;

/// Makes and opens the plan tokens of one server.
pub(crate) struct Plans {
    seal: Seal,
    /// Servers that share a secret do not accept each other's plans.
    server: String,
    instance: String,
}

/// A digest of 32 bytes.
pub(crate) type Digest = [u8; 32];

/// The digest of the state that a preview read, made with a secret, so that it cannot be used to test values.
pub(crate) type StateDigest = Option<Digest>;

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

/// Signs the results of a preview.
pub(crate) struct Signer {
    seal: Seal,
    bound: Digest,
    time: Duration,
    /// The tool that requires the token as an argument, if it does.
    wanted_by: Option<String>,
}

impl Signer {
    /// Adds the token to a result.
    pub(crate) fn sign(&self, result: &mut CallToolResult, world: Option<&str>) {
        let expires = SystemTime::now() + self.time;
        let since = expires.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut payload =
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX).to_be_bytes().to_vec();
        payload.extend(self.bound);
        payload.extend(world.map(|world| self.seal.digest(world.as_bytes())).iter().flatten());
        let token = self.seal.close(&payload);
        if let Some(tool) = &self.wanted_by {
            let minutes = self.time.as_secs().div_ceil(60);
            let text = format!(
                "To carry this out, call {tool} with the same arguments and {PLAN_ARGUMENT} \"{token}\" within {minutes} min."
            );
            result.content.push(Content::text(text));
        }
        let said = json!({"token": token, "expiresAt": rfc3339(expires)});
        let meta = result.meta.take().unwrap_or_default();
        result.meta = Some(meta.with(extension::PLAN, &said));
    }
}

impl Plans {
    pub(crate) fn new(seal: Seal, server: &str, instance: &str) -> Self {
        Self { seal, server: server.to_owned(), instance: instance.to_owned() }
    }

    /// Returns a signer for the results of this tool's preview with these arguments.
    pub(crate) fn signer(
        &self,
        tool: &RegisteredTool,
        principal: &Principal,
        arguments: &Arguments,
        time: Duration,
    ) -> Signer {
        Signer {
            seal: self.seal.clone(),
            bound: self.bound(tool, principal, arguments),
            time,
            wanted_by: tool.safeguards.requires_preview.then(|| tool.name().to_owned()),
        }
    }

    /// Checks that the caller previewed the call, if its tool requires that. Returns the state that the preview saw.
    pub(crate) fn check(
        &self,
        call: &EvaluatedCall<'_>,
        preview: Option<&RegisteredTool>,
        token: Option<&str>,
    ) -> Result<StateDigest, Refusal> {
        let Some(preview) = preview.filter(|_| !call.hints.is_read_only()) else {
            return Ok(None);
        };
        let (preview, arguments) = (preview.name().to_owned(), call.arguments.as_value().clone());
        let Some(token) = token else {
            if !call.entry.safeguards.requires_preview {
                return Ok(None);
            }
            let tool = call.entry.name().to_owned();
            return Err(Refusal::PreviewRequired { tool, preview, arguments });
        };
        let bound = self.bound(call.entry, &call.request.caller.principal, call.arguments);
        self.open(token, bound).ok_or(Refusal::PlanInvalid { preview, arguments })
    }

    /// Returns the digest of a state that a preview reports.
    pub(crate) fn state(&self, reported: &str) -> Digest {
        self.seal.digest(reported.as_bytes())
    }

    fn open(&self, token: &str, bound: Digest) -> Option<StateDigest> {
        let payload = self.seal.open(Some(token).filter(|token| token.len() <= LONGEST)?)?;
        let (expires, rest) = payload.split_first_chunk()?;
        let (made_for, world) = rest.split_first_chunk::<32>()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        if u128::from(u64::from_be_bytes(*expires)) <= now.as_millis() || *made_for != bound {
            return None;
        }
        match world.len() {
            0 => Some(None),
            _ => world.try_into().ok().map(Some),
        }
    }

    /// Returns a digest of everything that a plan is bound to. Each part follows its length, so that two parts cannot run into each
    /// other.
    fn bound(&self, tool: &RegisteredTool, principal: &Principal, arguments: &Arguments) -> Digest {
        let arguments = candor_schema::canonical(tool.without_key(arguments).as_value());
        let mut hash = Sha256::new();
        for part in [
            self.server.as_bytes(),
            self.instance.as_bytes(),
            principal.as_str().as_bytes(),
            tool.name().as_bytes(),
            arguments.as_bytes(),
            tool.digest(),
        ] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.finalize().into()
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

//! `candor explain`: the effect of a call and the decision on it. It makes no call.

use std::process::ExitCode;

use candor::hints::HintSource;
use candor::operator::shown::shown;
use candor::protocol::names::argument::IDEMPOTENCY_KEY;
use candor_client::{EffectSource, Error, Explanation, HostPolicy, Key, KnownTool, Trust, Verdict};
use serde_json::{Value, json};

use super::decision::{NextStep, review};
use super::error::CliError;
use super::pins::Pins;
use super::server::{ConnectedServer, Server, ended, result};
use super::{content, given, safe};
use crate::exit::Exit;
use crate::out::Out;
use crate::targets::{CliEnvironment, CommandWords};

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "candor explain TARGET TOOL [K=V]...\n       candor explain TOOL [K=V]... -- PROGRAM [ARGS]..."
)]
pub(crate) struct ExplainArgs {
    /// The server, the tool, and its arguments
    #[arg(value_name = "TARGET TOOL K=V")]
    words: Vec<String>,

    /// All arguments as one JSON object, instead of K=V: the object itself, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,

    /// Show the tool's own preview of the call, too
    #[arg(long)]
    preview: bool,

    #[command(flatten)]
    server: Server,
}

pub(crate) async fn run(args: ExplainArgs) -> ExitCode {
    let ExplainArgs { words, arguments, preview, server } = args;
    // Continue if the server cannot evaluate the call: that is part of the explanation.
    let policy = HostPolicy::default().proceed_unevaluated();
    let words = (words, CommandWords::Names);
    let done =
        server.visit(words, policy, given::tool_and_rest, async |reached, (name, rest), out| {
            let tool = reached.client.tool(&name).await?;
            let mut arguments = given::read(&reached.client, &tool, rest, arguments).await?;
            if given::takes_key(&reached.client, &tool) && !arguments.contains_key(IDEMPOTENCY_KEY)
            {
                arguments.insert(IDEMPOTENCY_KEY.to_owned(), Key::new().as_str().into());
            }
            let arguments = Value::Object(arguments);
            let mut explanation = reached.client.explain(tool.name(), &arguments).await?;
            let pins = Pins::of(&reached.found, &CliEnvironment::real());
            let trust = reached.client.trust();
            let notes = review(&pins, trust, (&tool, &arguments), &mut explanation);
            let preview = match preview {
                true => Some(look(reached, &tool, &arguments).await),
                false => None,
            };
            let next = NextStep::of(&explanation);
            match out.json {
                true => {
                    let mut told = as_json(reached, &tool, &arguments, &explanation, next, preview);
                    told["notes"] = notes.into();
                    result(out, &told)
                }
                false => tell(reached, &explanation, next, &notes, preview, out),
            }
        });
    ended(done.await, server.json)
}

/// The text of the tool's preview, safe to show; or why there is none.
type Preview = Result<String, CliError>;

async fn look(reached: &ConnectedServer, tool: &KnownTool, arguments: &Value) -> Preview {
    match reached.client.preview(tool.name(), arguments).await {
        Ok(Some(preview)) => Ok(content::summary(&preview.content)),
        Ok(None) => Err(no_preview(tool)),
        Err(Error::Refused(_)) => {
            let why = "the preview is a call, too, and may do more than read";
            Err(CliError::new(Exit::Refused, "refused", why))
        }
        Err(Error::PreviewFailed(result)) => Err(CliError::of_result(&result)),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn no_preview(tool: &KnownTool) -> CliError {
    CliError::usage(format!("{} has no preview", shown(tool.name())))
}

fn source(source: HintSource) -> &'static str {
    match source {
        HintSource::Resolved => "asked",
        HintSource::Declared => "declared",
        HintSource::Default => "default",
    }
}

fn tell(
    reached: &ConnectedServer,
    explanation: &Explanation,
    next: NextStep,
    notes: &[String],
    preview: Option<Preview>,
    out: &mut Out,
) -> Result<(), CliError> {
    let Explanation { hints, said, .. } = explanation;
    let words = explanation.summary();
    let words = if hints.is_destructive() { out.strong(&words) } else { words };
    out.line(&format!("{words}   → {}", next.summary()))?;
    out.line("")?;
    let rows = [
        ("read-only", said.hints.is_read_only()),
        ("destructive", said.hints.is_destructive()),
        ("safe to retry", said.hints.is_idempotent()),
        ("external", said.hints.is_open_world()),
    ];
    for ((hint, value), from) in rows.into_iter().zip(said.sources) {
        let value = if value { "yes" } else { "no" };
        out.line(&format!("  {hint:<13}  {value:<3}  {}", source(from)))?;
    }
    out.line("")?;
    let name = reached.name();
    out.line(&match (reached.client.trust(), explanation.basis) {
        (Trust::Trusted, EffectSource::Asked) => {
            format!("{name} is trusted, and evaluated exactly these arguments.")
        }
        (Trust::Trusted, EffectSource::Declared) => {
            let declared = match said.sources.contains(&HintSource::Default) {
                true => {
                    "some of these hints, for all its calls; each other hint counts as the worst case"
                }
                false => "these hints for all its calls",
            };
            format!("{name} is trusted. The tool declares {declared}.")
        }
        (Trust::Untrusted, EffectSource::Asked | EffectSource::Declared) => {
            format!("{name} is untrusted, so the worst case applies. (--trust hints)")
        }
        _ => format!("{name} does not classify this tool, so the worst case applies."),
    })?;
    if let Some(verdict) = explanation.server {
        let does = match verdict {
            Verdict::Allow => "allows this call",
            Verdict::Ask => "requires approval for this call",
            Verdict::Deny => "denies this call",
        };
        out.line(&format!("The server's policy {does}."))?;
    }
    for note in notes {
        out.line(note)?;
    }
    match preview {
        None => {}
        Some(Ok(text)) => {
            out.line(&format!("\npreview\n{}", safe::quoted(&text)))?;
        }
        Some(Err(why)) => {
            out.line(&format!("\nno preview: {}", why.in_one_line()))?;
        }
    }
    Ok(())
}

fn as_json(
    reached: &ConnectedServer,
    tool: &KnownTool,
    arguments: &Value,
    explanation: &Explanation,
    next: NextStep,
    preview: Option<Preview>,
) -> Value {
    let said = explanation.said;
    let (preview, no_preview) = match preview {
        None => (None, None),
        Some(Ok(text)) => (Some(text), None),
        Some(Err(why)) => (None, Some(why.in_one_line())),
    };
    let [reads, destroys, repeats, outside] = said.sources.map(source);
    let hint = |value: bool, source: &str| json!({"value": value, "source": source});
    json!({
        "tool": tool.name(),
        "arguments": arguments,
        "effect": explanation.summary(),
        "unclassified": said.is_unclassified(),
        "next": next.word(),
        "hints": {
            "readOnlyHint": hint(said.hints.is_read_only(), reads),
            "destructiveHint": hint(said.hints.is_destructive(), destroys),
            "idempotentHint": hint(said.hints.is_idempotent(), repeats),
            "openWorldHint": hint(said.hints.is_open_world(), outside),
        },
        "fields": explanation.fields,
        "basis": match explanation.basis {
            EffectSource::Asked => "asked",
            EffectSource::Declared => "declared",
            _ => "nothing",
        },
        "trusted": reached.client.trust() == Trust::Trusted,
        "hostVerdict": explanation.verdict.as_str(),
        "serverVerdict": explanation.server.map(Verdict::as_str),
        "failed": explanation.failed.as_ref().map(ToString::to_string),
        "preview": preview,
        "noPreview": no_preview,
    })
}

//! `candor prompts`: lists the prompts of a server, or fills in one of them.

use std::process::ExitCode;

use candor::operator::shown::shown;
use candor_client::HostPolicy;
use candor_client::types::{GetPromptResult, Prompt, PromptArgument};
use candor_schema::nearest;
use serde_json::{Value, json};

use super::error::CliError;
use super::given::{Stdin, aside};
use super::server::{ConnectedServer, Server, ended, result};
use super::{content, safe};
use crate::arguments;
use crate::exit::Exit;
use crate::out::Out;
use crate::signature;
use crate::targets::CommandWords;

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "candor prompts TARGET [NAME [K=V]...]\n       candor prompts [NAME [K=V]...] -- PROGRAM [ARGS]..."
)]
pub(crate) struct PromptsArgs {
    /// The server; and a prompt to fill in, with its arguments
    #[arg(value_name = "TARGET NAME K=V")]
    words: Vec<String>,

    #[command(flatten)]
    server: Server,
}

pub(crate) async fn run(args: PromptsArgs) -> ExitCode {
    let PromptsArgs { words, server } = args;
    let words = (words, CommandWords::Names);
    let done =
        server.visit(words, HostPolicy::default(), Ok, async |reached, rest: Vec<_>, out| {
            let prompts = reached.client.prompts().await?;
            match rest.split_first() {
                None => list(&prompts, out),
                Some((name, words)) => fill_in(reached, &prompts, name, words.to_vec(), out).await,
            }
        });
    ended(done.await, server.json)
}

fn list(prompts: &[Prompt], out: &mut Out) -> Result<(), CliError> {
    if out.json {
        return result(out, &json!({"prompts": prompts}));
    }
    for prompt in prompts {
        let schema = schema(prompt);
        let signature = definition(prompt, &schema).signature(out.width());
        let about = prompt.description.as_deref().or(prompt.title.as_deref()).unwrap_or_default();
        let about = match about.lines().next().unwrap_or_default() {
            "" => String::new(),
            about => format!("  | {}", shown(about)),
        };
        out.line(&format!("{signature}{about}"))?;
    }
    out.flush()?;
    if prompts.is_empty() {
        eprintln!("there is none");
    }
    Ok(())
}

async fn fill_in(
    reached: &ConnectedServer,
    prompts: &[Prompt],
    name: &str,
    words: Vec<String>,
    out: &mut Out,
) -> Result<(), CliError> {
    let Some(prompt) = prompts.iter().find(|prompt| prompt.name == name).cloned() else {
        return Err(unknown(name, prompts));
    };
    let given = aside(move || {
        let schema = schema(&prompt);
        let definition = definition(&prompt, &schema);
        Ok(arguments::read(&words, None, &definition, &mut Stdin::default())?)
    })
    .await?;
    let given = given.into_iter().map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (name, text)
    });
    let filled = reached.client.prompt(name, given).await?;
    match out.json {
        true => result(out, &filled),
        false => tell(&filled, out),
    }
}

fn unknown(name: &str, prompts: &[Prompt]) -> CliError {
    let meant = nearest(name, prompts.iter().map(|prompt| prompt.name.as_str()));
    let meant = meant.map(|meant| format!(". Did you mean {}?", shown(meant))).unwrap_or_default();
    CliError::new(Exit::Usage, "unknown_prompt", format!("Unknown prompt: {}{meant}", shown(name)))
}

/// Returns the prompt's arguments as the schema of a tool. All of them are strings.
fn schema(prompt: &Prompt) -> Value {
    let arguments = prompt.arguments.as_deref().unwrap_or_default();
    let property = |argument: &PromptArgument| (argument.name.clone(), json!({"type": "string"}));
    let required = arguments.iter().filter(|argument| argument.required == Some(true));
    json!({
        "type": "object",
        "properties": arguments.iter().map(property).collect::<serde_json::Map<_, _>>(),
        "required": required.map(|argument| &argument.name).collect::<Vec<_>>(),
        "additionalProperties": false,
    })
}

fn definition<'a>(prompt: &'a Prompt, schema: &'a Value) -> signature::Tool<'a> {
    signature::Tool { name: &prompt.name, input: schema, output: None }
}

fn tell(filled: &GetPromptResult, out: &mut Out) -> Result<(), CliError> {
    if let Some(description) = &filled.description {
        eprintln!("{}", safe::quoted(description));
    }
    for message in &filled.messages {
        let role = serde_json::to_value(&message.role).unwrap_or_default();
        let role = role.as_str().unwrap_or("?").to_owned();
        out.line(&format!("{}: {}", shown(&role), content::block(&message.content)))?;
    }
    Ok(())
}

//! The arguments of a call on the command line, parsed by the tool's schema.

use std::io::{self, IsTerminal as _, Read};
use std::sync::Arc;
use std::thread;

use candor::protocol::names::argument::{IDEMPOTENCY_KEY, PLAN_TOKEN};
use candor_client::{Client, KnownTool};
use candor_schema::Schema;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::error::CliError;
use crate::arguments::{self, Invalid};
use crate::signature;

/// Returns the tool as it is declared, for its signature.
pub(super) fn definition(tool: &KnownTool) -> signature::Tool<'_> {
    signature::Tool { name: tool.name(), input: tool.input_schema(), output: tool.output_schema() }
}

/// Returns true if the tool has an argument for a key and the server supports keys.
pub(super) fn takes_key(client: &Client, tool: &KnownTool) -> bool {
    client.has_keys()
        && tool
            .input_schema()
            .get("properties")
            .is_some_and(|known| known.get(IDEMPOTENCY_KEY).is_some())
}

/// Splits words into the name of a tool and the words that follow it.
pub(super) fn tool_and_rest(words: Vec<String>) -> Result<(String, Vec<String>), CliError> {
    let mut words = words.into_iter();
    match words.next() {
        Some(tool) => Ok((tool, words.collect())),
        None => Err(CliError::usage("which tool? `candor tools` lists them")),
    }
}

/// Parses `words` (`k=v`…), or `whole` instead of them. Invalid arguments are an error before the call is sent.
pub(super) async fn read(
    client: &Client,
    tool: &Arc<KnownTool>,
    words: Vec<String>,
    whole: Option<String>,
) -> Result<Map<String, Value>, CliError> {
    let (tool, has_keys) = (tool.clone(), client.has_keys());
    aside(move || fitting(&tool, has_keys, &words, whole.as_deref())).await
}

/// Reads on another thread: the user may type as long as they like, and Ctrl-C still works.
pub(super) async fn aside<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, CliError> + Send + 'static,
) -> Result<T, CliError> {
    let (tell, told) = oneshot::channel();
    // Not a runtime task: the runtime would wait for it on shutdown.
    thread::spawn(move || {
        let _ = tell.send(read());
    });
    told.await.map_err(io::Error::other)?
}

fn fitting(
    tool: &KnownTool,
    has_keys: bool,
    words: &[String],
    whole: Option<&str>,
) -> Result<Map<String, Value>, CliError> {
    let input = without_own(tool, has_keys);
    let definition = signature::Tool { input: &input, ..definition(tool) };
    let given = arguments::read(words, whole, &definition, &mut Stdin::default())?;
    let given = Value::Object(given);
    // If the schema cannot be compiled, only the server checks the arguments.
    if let Ok(schema) = Schema::compile(&input.to_string()) {
        schema.check(&given).map_err(|found| Invalid::found(&found, &definition))?;
    }
    match given {
        Value::Object(given) => Ok(given),
        _ => Ok(Map::new()),
    }
}

/// Stdin. At a terminal, a message shows that the program waits for input.
#[derive(Default)]
pub(super) struct Stdin {
    told: bool,
}

impl Read for Stdin {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if !self.told && io::stdin().is_terminal() {
            eprintln!("reading what you type, until Ctrl-D at the beginning of a line");
        }
        self.told = true;
        io::stdin().read(bytes)
    }
}

/// Returns the schema without the requirement for what the client fills in: a key, if the server has keys, and the plan token.
fn without_own(tool: &KnownTool, has_keys: bool) -> Value {
    let mut input = tool.input_schema().clone();
    let previewed = tool.preview().is_some_and(|(_, required)| required);
    if let Some(required) = input.get_mut("required").and_then(Value::as_array_mut) {
        let is_ours = |name: &Value| {
            (has_keys && name == IDEMPOTENCY_KEY) || (previewed && name == PLAN_TOKEN)
        };
        required.retain(|name| !is_ours(name));
    }
    input
}

//! The arguments of a call, as they stand on the command line, read by the schema of the tool.

use std::io::{self, IsTerminal as _, Read};
use std::sync::Arc;
use std::thread;

use candor::protocol::names::argument::{IDEMPOTENCY_KEY, PLAN_TOKEN};
use candor_client::{Client, KnownTool};
use candor_schema::Schema;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::trouble::CliError;
use crate::arguments::{self, Invalid};
use crate::signature;

/// As it is declared, for one line.
pub(super) fn definition(tool: &KnownTool) -> signature::Tool<'_> {
    signature::Tool { name: tool.name(), input: tool.input_schema(), output: tool.output_schema() }
}

/// Whether it has an argument for a key that the server makes use of.
pub(super) fn takes_key(client: &Client, tool: &KnownTool) -> bool {
    client.has_keys()
        && tool
            .input_schema()
            .get("properties")
            .is_some_and(|known| known.get(IDEMPOTENCY_KEY).is_some())
}

/// The name of a tool and the words that follow it.
pub(super) fn tool_and_rest(words: Vec<String>) -> Result<(String, Vec<String>), CliError> {
    let mut words = words.into_iter();
    match words.next() {
        Some(tool) => Ok((tool, words.collect())),
        None => Err(CliError::usage("which tool? `candor tools` lists them")),
    }
}

/// Reads `words` (`k=v`…), or `whole` instead of them. Whether they fit is known before anything is sent.
pub(super) async fn read(
    client: &Client,
    tool: &Arc<KnownTool>,
    words: Vec<String>,
    whole: Option<String>,
) -> Result<Map<String, Value>, CliError> {
    let (tool, has_keys) = (tool.clone(), client.has_keys());
    aside(move || fitting(&tool, has_keys, &words, whole.as_deref())).await
}

/// Reads on a thread of its own: what is still to be typed may take as long as it likes, and Ctrl-C is heard meanwhile.
pub(super) async fn aside<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, CliError> + Send + 'static,
) -> Result<T, CliError> {
    let (tell, told) = oneshot::channel();
    // Not a task of the runtime, which would wait for it at the end.
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
    // A schema that cannot be read is the server's business.
    if let Ok(schema) = Schema::compile(&input.to_string()) {
        schema.check(&given).map_err(|found| Invalid::found(&found, &definition))?;
    }
    match given {
        Value::Object(given) => Ok(given),
        _ => Ok(Map::new()),
    }
}

/// Stdin. Whoever sits there is told that they are waited for.
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

/// The schema without the demand for what is filled in here: a key, if the server has keys, and the token of a preview.
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

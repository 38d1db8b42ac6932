//! Several servers, with a unique name for each of their tools.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::call::Call;
use crate::client::Client;
use crate::error::Error;
use crate::formats;
use crate::safely::SafeCall;
use crate::tools::KnownTool;

/// Servers under names that the host chooses. A model sees their tools side by side.
///
/// ```no_run
/// use candor_client::{Client, Servers};
/// use serde_json::json;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let mut servers = Servers::new();
/// servers.add("files", Client::connect("http://127.0.0.1:7332/mcp").await?)?;
/// servers.add("notes", Client::connect("http://127.0.0.1:7333/mcp").await?)?;
///
/// let tools = servers.tools().await;
/// let request = json!({"model": "…", "messages": [], "tools": tools.for_openai()});
/// // The model calls `files__read_file`.
/// if let Some(tool) = tools.get("files__read_file") {
///     let result = tool.call_safely(json!({"path": "a.txt"})).await?;
///     println!("{} says: {}", tool.server(), result.text());
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Servers {
    clients: Vec<(String, Client)>,
}

/// The error for a name that another server already has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameTaken(pub String);

impl std::fmt::Display for NameTaken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "there is a server {:?} already; give this one another name", self.0)
    }
}

impl std::error::Error for NameTaken {}

impl Servers {
    /// Creates an empty list of servers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a server under a name.
    pub fn add(&mut self, name: impl Into<String>, client: Client) -> Result<(), NameTaken> {
        let name = name.into();
        if self.get(&name).is_some() {
            return Err(NameTaken(name));
        }
        self.clients.push((name, client));
        Ok(())
    }

    /// Returns the server of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Client> {
        self.clients.iter().find(|(known, _)| known == name).map(|(_, client)| client)
    }

    /// Lists the tools of all servers at the same time. If a server fails, only its own tools are missing; see
    /// [`NamedTools::failed`].
    pub async fn tools(&self) -> NamedTools {
        let listed = self
            .clients
            .iter()
            .map(|(server, client)| async move { (server, client, client.tools().await) });
        let mut all = NamedTools::default();
        for (server, client, tools) in join_all(listed).await {
            let tools = match tools {
                Ok(tools) => tools,
                Err(error) => {
                    all.failed.push((server.clone(), error));
                    continue;
                }
            };
            for tool in tools.iter() {
                let name = tool_name(server, tool.name());
                all.by_name.insert(name.clone(), all.tools.len());
                let (server, client, tool) = (server.clone(), client.clone(), tool.clone());
                all.tools.push(NamedTool { name, server, client, tool });
            }
        }
        all
    }
}

/// The tools of several servers at one point in time.
#[derive(Debug, Default)]
pub struct NamedTools {
    tools: Vec<NamedTool>,
    by_name: HashMap<String, usize>,
    failed: Vec<(String, Error)>,
}

impl NamedTools {
    /// Returns the tool with this name for models.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&NamedTool> {
        self.by_name.get(name).map(|at| &self.tools[*at])
    }

    /// Returns all tools: the servers in the order in which they were added, each in its own order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &NamedTool> {
        self.tools.iter()
    }

    /// Returns the servers whose tools could not be listed, and why.
    #[must_use]
    pub fn failed(&self) -> &[(String, Error)] {
        &self.failed
    }

    /// Returns the `tools` of a request to OpenAI; see [`NamedTool::for_openai`].
    #[must_use]
    pub fn for_openai(&self) -> Vec<Value> {
        self.iter().map(NamedTool::for_openai).collect()
    }

    /// Returns the `tools` of a request to Anthropic; see [`NamedTool::for_anthropic`].
    #[must_use]
    pub fn for_anthropic(&self) -> Vec<Value> {
        self.iter().map(NamedTool::for_anthropic).collect()
    }
}

/// A tool of one of several servers.
#[derive(Debug, Clone)]
pub struct NamedTool {
    name: String,
    server: String,
    client: Client,
    tool: Arc<KnownTool>,
}

impl NamedTool {
    /// Returns the tool's name for models: `server__tool`. If that is too long, ambiguous, or does not match
    /// `^[a-zA-Z0-9_-]{1,64}$`, the name has a digest instead. The same server and tool always have the same name, and no other
    /// tool has it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the tool's server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns the client of the tool's server.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the tool as its server defines it, with its name on that server.
    #[must_use]
    pub fn tool(&self) -> &Arc<KnownTool> {
        &self.tool
    }

    /// Calls the tool on its server without confirmation; see [`Client::call`]. Arguments may have the names that
    /// [`NamedTool::for_anthropic`] gives them.
    pub fn call(&self, arguments: Value) -> Call<'_> {
        self.client.call(self.tool.name(), formats::restored(arguments, &self.tool))
    }

    /// Calls the tool on its server, with a confirmation if needed; see [`Client::call_safely`]. Arguments may have the names that
    /// [`NamedTool::for_anthropic`] gives them.
    pub fn call_safely(&self, arguments: Value) -> SafeCall<'_> {
        self.client.call_safely(self.tool.name(), formats::restored(arguments, &self.tool))
    }

    /// Returns the tool in the format of OpenAI's Chat Completions:
    /// `{"type": "function", "function": {name, description, parameters}}`. For the Responses API, put the members of `function`
    /// beside `type` instead. A description of more than 1024 characters is shortened, and each array schema has `items`.
    #[must_use]
    pub fn for_openai(&self) -> Value {
        formats::openai(&self.name, &self.tool)
    }

    /// Returns the tool in the format of Anthropic's Messages: `{name, description, input_schema}`. An argument whose name does not
    /// match `^[a-zA-Z0-9_.-]{1,64}$` has another name there; [`NamedTool::call`] and [`NamedTool::call_safely`] accept both.
    #[must_use]
    pub fn for_anthropic(&self) -> Value {
        formats::anthropic(&self.name, &self.tool)
    }
}

/// The maximum length of a name that providers accept.
const LONGEST: usize = 64;

/// The hex digits of a digest: enough to rule out a collision.
const DIGITS: usize = 32;

/// Returns a name that only this tool of this server has.
///
/// `server__tool` is unambiguous if the server's name has no `__` and does not end with `_`: then the first `__` separates the two.
/// Any other pair gets a digest in a name without `__`, so the two kinds never collide.
fn tool_name(server: &str, tool: &str) -> String {
    let is_plain = |text: &str| !text.is_empty() && text.bytes().all(is_allowed);
    let is_clear = !server.contains("__") && !server.ends_with('_');
    let plain = format!("{server}__{tool}");
    if is_plain(server) && is_plain(tool) && is_clear && plain.len() <= LONGEST {
        return plain;
    }
    // The length separates the two names in the input of the digest.
    digested(&format!("{server}-{tool}"), &format!("{}\0{server}{tool}", server.len()))
}

/// Returns a unique name for a source: the start of the text in allowed characters, and a digest of the source.
pub(crate) fn digested(text: &str, source: &str) -> String {
    let mut readable = String::new();
    for letter in text.chars() {
        let letter = if letter.is_ascii() && is_allowed(letter as u8) { letter } else { '_' };
        if letter != '_' || !readable.ends_with('_') {
            readable.push(letter);
        }
        if readable.len() == LONGEST - DIGITS - 1 {
            break;
        }
    }
    let digest = Sha256::digest(source);
    let digits: String = digest.iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")).collect();
    format!("{readable}-{digits}")
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn is_valid(name: &str) -> bool {
        (1..=LONGEST).contains(&name.len()) && name.bytes().all(is_allowed)
    }

    #[test]
    fn ambiguous_or_long_tool_names_get_a_digest() {
        assert_eq!(tool_name("files", "read_file"), "files__read_file");
        assert_eq!(tool_name("a", "b__c"), "a__b__c");
        let taken: HashSet<String> = [
            ("a", "b__c"),
            ("a__b", "c"),
            ("a_", "b"),
            ("a", "_b"),
            ("a__b__c", ""),
            ("", "a__b__c"),
            ("a b", "c"),
            ("a.b", "c"),
            ("a/b", "c"),
            ("ä", "c"),
            ("ab", "c"),
            ("a", "bc"),
            (&"x".repeat(70), "a"),
            (&"x".repeat(70), "b"),
            (&"x".repeat(71), "a"),
        ]
        .iter()
        .map(|(server, tool)| tool_name(server, tool))
        .collect();
        assert_eq!(taken.len(), 15, "{taken:?}");
        assert!(taken.iter().all(|name| is_valid(name)), "{taken:?}");
        // A tool that is named like the digest of another does not get its name.
        let digest = tool_name("a__b", "c");
        let (server, tool) = digest.split_at(1);
        assert_ne!(tool_name(server, tool), digest);
    }

    proptest! {
        #[test]
        fn different_tools_have_different_valid_names(
            one in ("[ab_. -]{0,5}|.{0,80}", "[ab_. -]{0,5}|.{0,80}"),
            other in ("[ab_. -]{0,5}|.{0,80}", "[ab_. -]{0,5}|.{0,80}"),
        ) {
            let names = (tool_name(&one.0, &one.1), tool_name(&other.0, &other.1));
            prop_assert!(is_valid(&names.0), "{}", names.0);
            prop_assert_eq!(one == other, names.0 == names.1, "{:?}", names);
        }
    }
}

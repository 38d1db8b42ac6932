//! A set of tools: checked once, found by name, listed from text that was written once.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use candor_protocol::Era;
use candor_protocol::json::RawValue;
use candor_protocol::types::Tool as Definition;
use candor_schema::Schema;
use serde_json::Value;

use super::Tool;
use crate::methods;
use crate::mirror::{self, Mirror};
use crate::page::PAGE_SIZE;

/// Tools in the order in which they are listed.
#[derive(Default)]
pub struct ToolSet {
    entries: Vec<Entry>,
    by_name: HashMap<String, usize>,
    /// The pages of the list, written when first asked for, for each era.
    modern: OnceLock<Vec<Bytes>>,
    legacy: OnceLock<Vec<Bytes>>,
}

/// A tool with everything that can be known of it before a call.
pub(crate) struct Entry {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) input: Arc<Schema>,
    pub(crate) output: Option<Arc<Schema>>,
    pub(crate) mirrors: Vec<Mirror>,
}

/// Why a tool cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistrationError {
    tool: String,
    problem: String,
}

impl fmt::Display for RegistrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tool {:?}: {}", self.tool, self.problem)
    }
}

impl std::error::Error for RegistrationError {}

impl ToolSet {
    /// Checks and indexes tools. Fails for two tools of one name, and for schemas that cannot be honoured.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<Self, RegistrationError> {
        let mut set = Self::default();
        for tool in tools {
            let name = tool.definition().name.clone();
            let refuse = |problem: String| RegistrationError { tool: name.clone(), problem };
            let entry = Entry::of(tool).map_err(refuse)?;
            if set.by_name.insert(name.clone(), set.entries.len()).is_some() {
                return Err(refuse("another tool has this name".to_owned()));
            }
            set.entries.push(entry);
        }
        Ok(set)
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The tools as they are listed.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.entries.iter().map(|entry| entry.tool.definition())
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Entry> {
        self.by_name.get(name).map(|at| &self.entries[*at])
    }

    /// The page that begins at `start`, as a JSON array. Pages begin at multiples of the page size.
    pub(crate) fn page(&self, start: usize, era: Era) -> Option<Bytes> {
        let pages = match era {
            Era::Modern => self.modern.get_or_init(|| pages(self.definitions().map(Cow::Borrowed))),
            Era::Legacy => self.legacy.get_or_init(|| pages(self.definitions().map(for_legacy))),
        };
        start.is_multiple_of(PAGE_SIZE).then(|| pages.get(start / PAGE_SIZE).cloned())?
    }
}

fn pages<'a>(definitions: impl Iterator<Item = Cow<'a, Definition>>) -> Vec<Bytes> {
    let definitions: Vec<_> = definitions.map(Listed).collect();
    definitions.chunks(PAGE_SIZE).map(methods::write).collect()
}

/// A definition on its way out.
struct Listed<'a>(Cow<'a, Definition>);

impl serde::Serialize for Listed<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Up to 2025-11-25 an output schema is an object's, and a client that finds one expects structured content;
/// so what structured content cannot be there is not announced there.
fn for_legacy(definition: &Definition) -> Cow<'_, Definition> {
    let of_object = |schema: &RawValue| {
        let schema: Result<Value, _> = serde_json::from_str(schema.get());
        schema.is_ok_and(|s| s.get("type").and_then(Value::as_str) == Some("object"))
    };
    match &definition.output_schema {
        Some(schema) if !of_object(schema) => {
            let mut without = definition.clone();
            without.output_schema = None;
            Cow::Owned(without)
        }
        _ => Cow::Borrowed(definition),
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.definitions().map(|d| &d.name)).finish()
    }
}

impl Entry {
    fn of(tool: Arc<dyn Tool>) -> Result<Self, String> {
        let definition = tool.definition();
        warn_about_name(&definition.name);
        let schema: Value =
            serde_json::from_str(definition.input_schema.get()).map_err(|e| e.to_string())?;
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(r#"the root of the input schema must be "type": "object""#.to_owned());
        }
        let mirrors = mirror::mirrors(&schema)?;
        let input = Schema::compile(definition.input_schema.get())
            .map_err(|e| format!("input schema: {e}"))?;
        let output = match &definition.output_schema {
            None => None,
            Some(schema) => {
                Some(Schema::compile(schema.get()).map_err(|e| format!("output schema: {e}"))?)
            }
        };
        Ok(Self { tool, input, output, mirrors })
    }
}

fn warn_about_name(name: &str) {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
        tracing::warn!(tool = name, "hosts may refuse this name: use 1 to 64 of A-Z a-z 0-9 _ -");
    }
}

//! A tool with everything that can be known of it before a call.

use std::sync::Arc;

use candor_protocol::json::RawValue;
use candor_schema::Schema;
use serde_json::Value;

use super::publish::is_boxed;
use super::split::{self, Part};
use super::{Effects, Tool, coverage};
use crate::mirror::{self, Mirror};

/// A tool that has been checked.
pub(crate) struct Entry {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) input: Arc<Schema>,
    pub(crate) output: Option<Arc<Schema>>,
    pub(crate) mirrors: Vec<Mirror>,
    pub(crate) effects: Effects,
    /// Whether results stand in a box of one field.
    pub(crate) boxed: bool,
}

impl Entry {
    /// Checks a tool; says what is wrong with it.
    pub(super) fn of(tool: Arc<dyn Tool>) -> Result<Self, String> {
        let definition = tool.definition();
        warn_about_name(&definition.name);
        let schema = read(&definition.input_schema)?;
        definition.output_schema.as_deref().map(read).transpose()?;
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
        let boxed = definition.output_schema.as_deref().is_some_and(is_boxed);
        let effects = match tool.effects() {
            Effects::Table(table) => Effects::Table(Arc::new(coverage::complete(&table, &schema)?)),
            other => other,
        };
        Ok(Self { tool, input, output, mirrors, effects, boxed })
    }

    /// The parts that it can be listed as.
    pub(super) fn parts(&self) -> Result<Vec<Part>, String> {
        let Effects::Table(table) = &self.effects else { return Ok(Vec::new()) };
        let definition = self.tool.definition();
        let schema =
            serde_json::from_str(definition.input_schema.get()).map_err(|e| e.to_string())?;
        split::parts(definition, table, &schema)
    }
}

/// A schema as a value; a string in its place says why there is none.
fn read(schema: &RawValue) -> Result<Value, String> {
    match serde_json::from_str(schema.get()).map_err(|e| e.to_string())? {
        Value::String(complaint) => Err(complaint),
        schema => Ok(schema),
    }
}

fn warn_about_name(name: &str) {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
        tracing::warn!(tool = name, "hosts may refuse this name: use 1 to 64 of A-Z a-z 0-9 _ -");
    }
}

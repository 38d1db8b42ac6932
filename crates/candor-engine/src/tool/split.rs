//! The split view: one tool listed as several, each with exact hints.
//!
//! Today's hosts read only static hints. A tool whose effect table is over one argument can be listed as one tool for each value of
//! that argument: `manage_files_read`, `manage_files_delete`. Only the list and the lookup know about parts. A call of a part
//! becomes a call of the whole tool with the argument added, so everything after the lookup is the same.

use candor_hints::{Condition, EffectRow, EffectTable, Hints, Pointer};
use candor_protocol::json::raw;
use candor_protocol::types::{Tool as Definition, ToolAnnotations};
use candor_schema::{Invalid, Violation};
use serde_json::{Map, Value};

use super::arguments::Arguments;
use super::effects;

/// How split tools are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Split {
    /// The parts instead of the whole.
    Instead,
    /// The parts after the whole.
    Beside,
}

/// Maximum length of a name that hosts accept.
pub(super) const LONGEST_NAME: usize = 64;

/// One part of a tool.
#[derive(Debug)]
pub(crate) struct SplitTool {
    pub(crate) definition: Definition,
    /// The worst case of its calls.
    pub(crate) hints: Hints,
    /// The argument that the part does not have, and its value.
    argument: String,
    value: Value,
    /// Whether the effect still depends on the other arguments, so that the hints are those of the worst case.
    pub(crate) varies: bool,
}

impl SplitTool {
    /// Returns the arguments of the whole tool, from those of the part.
    pub(crate) fn complete(&self, arguments: &Arguments) -> Result<Arguments, Invalid> {
        let mut all: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
        match all.insert(self.argument.clone(), self.value.clone()) {
            None => Ok(Arguments::from(Value::Object(all))),
            Some(_) => {
                let pointer = Pointer::from(self.argument.as_str());
                let problem = format!("is always {} here; leave it out", self.value);
                Err(Violation::new(pointer.as_str(), problem).into())
            }
        }
    }
}

/// Returns the parts of a tool, if its table is over an argument with few values; or why they cannot be listed.
pub(crate) fn parts(
    definition: &Definition,
    table: &EffectTable,
    schema: &Value,
) -> Result<Vec<SplitTool>, String> {
    let Some(argument) = deciding(table, schema) else { return Ok(Vec::new()) };
    let values = schema["properties"][&argument]["enum"].as_array().into_iter().flatten();
    values.map(|value| part(definition, table, schema, &argument, value)).collect()
}

/// Returns the argument that every row asks about, if the schema names its values.
fn deciding(table: &EffectTable, schema: &Value) -> Option<String> {
    let (first, _) = table.rows().first()?.tests().first()?;
    let name = first.argument()?;
    let asks =
        |test: &(Pointer, Condition)| test.0 == *first && matches!(test.1, Condition::OneOf(_));
    let named = schema["properties"][name]["enum"].as_array()?;
    let all = table.rows().iter().all(|row| row.tests().is_empty() || row.tests().iter().any(asks));
    (all && named.iter().all(Value::is_string)).then(|| name.to_owned())
}

fn part(
    whole: &Definition,
    table: &EffectTable,
    schema: &Value,
    argument: &str,
    value: &Value,
) -> Result<SplitTool, String> {
    let word = value.as_str().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = format!("{}_{word}", whole.name).chars().map(plain).collect();
    if name.len() > LONGEST_NAME {
        return Err(format!("its part {name:?} has a name of more than {LONGEST_NAME} characters"));
    }
    let mut narrowed = schema.clone();
    if let Some(properties) = narrowed.get_mut("properties").and_then(Value::as_object_mut) {
        properties.shift_remove(argument);
    }
    if let Some(required) = narrowed.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| name != argument);
    }
    if narrowed["required"].as_array().is_some_and(Vec::is_empty)
        && let Some(keywords) = narrowed.as_object_mut()
    {
        keywords.shift_remove("required");
    }
    let own = Value::Object(Map::from_iter([(argument.to_owned(), value.clone())]));
    let hints = table.of_partial(&own);
    let mut definition = whole.clone();
    definition.input_schema = raw(&narrowed);
    definition.title = whole.title.as_ref().map(|title| format!("{title}: {word}"));
    let described = whole.description.as_deref().unwrap_or(&whole.name);
    definition.description = Some(format!("{described} ({argument}: {word}; {})", hints.summary()));
    let annotations = definition.annotations.get_or_insert_with(ToolAnnotations::new);
    effects::write(hints.declared(), annotations);
    definition.dynamic_annotations = None;
    definition.name = name;
    let varies = varies(table.rows(), argument, value);
    if !varies {
        effects::add_fields(table.annotations_of(&own).fields(), annotations);
    }
    Ok(SplitTool { definition, hints, argument: argument.to_owned(), value: value.clone(), varies })
}

/// Returns true if a row that may match this value asks about another argument too.
fn varies(rows: &[EffectRow], argument: &str, value: &Value) -> bool {
    let own = Pointer::from(argument);
    let may_fit = |(at, test): &(Pointer, Condition)| match test {
        Condition::OneOf(values) if *at == own => values.contains(value),
        _ => true,
    };
    rows.iter()
        .filter(|row| row.tests().iter().all(may_fit))
        .any(|row| row.tests().iter().any(|(at, _)| *at != own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool() -> (Definition, EffectTable, Value) {
        let schema = json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "action": {"type": "string", "enum": ["read", "soft delete"]}},
            "required": ["path", "action"],
            "additionalProperties": false,
        });
        let row =
            |action: &str, hints| EffectRow::when("action", Condition::equals(action)).then(hints);
        let table = EffectTable::new()
            .row(row("read", Hints::READS))
            .row(row("soft delete", Hints::DELETES))
            .closed_world();
        let mut definition = Definition::new("files", raw(&schema));
        definition.description = Some("Files".to_owned());
        (definition, table, schema)
    }

    #[test]
    fn split_tools_have_exact_hints_and_lack_the_argument() {
        let (definition, table, schema) = tool();
        let parts = parts(&definition, &table, &schema).unwrap();
        let names: Vec<_> = parts.iter().map(|part| part.definition.name.as_str()).collect();
        assert_eq!(names, ["files_read", "files_soft_delete"]);
        let read = &parts[0].definition;
        assert_eq!(
            read.input_schema.get(),
            r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}"#
        );
        assert_eq!(
            read.description.as_deref(),
            Some("Files (action: read; Reads · safe to retry · local)")
        );
        let annotations = read.annotations.as_ref().unwrap();
        assert_eq!(
            (annotations.read_only_hint, annotations.open_world_hint),
            (Some(true), Some(false))
        );
    }

    #[test]
    fn split_tool_call_completes_the_original_arguments() {
        let (definition, table, schema) = tool();
        let parts = parts(&definition, &table, &schema).unwrap();
        let sent = Arguments::from(json!({"path": "a"}));
        assert_eq!(*parts[0].complete(&sent).unwrap(), json!({"path": "a", "action": "read"}));
        let twice = Arguments::from(json!({"path": "a", "action": "read"}));
        assert!(parts[1].complete(&twice).is_err());
    }

    #[test]
    fn table_over_several_arguments_is_not_split() {
        let (definition, table, schema) = tool();
        let table = table.row(EffectRow::when("path", Condition::Below("/x".into())));
        assert!(parts(&definition, &table, &schema).unwrap().is_empty());
    }
}

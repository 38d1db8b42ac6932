//! Checks between the tools of one set. A tool that another one names must be present. If a tool deletes by an ID, another tool
//! should show which IDs there are.

use std::collections::HashMap;

use serde_json::Value;

use super::Effects;
use super::entry::RegisteredTool;
use super::safeguards::Preview;
use super::set::{RegistrationError, ToolSet};
use super::{warning, words};

/// Returns what is wrong with tools because of others: in their order, one fault each.
pub(super) fn faults(set: &ToolSet) -> Vec<RegistrationError> {
    let mut shown = HashMap::new();
    let mut faults = Vec::new();
    for entry in set.entries() {
        if let Err(problem) = check(entry, set, &mut shown) {
            faults.push(RegistrationError::of(entry.name(), problem));
        }
    }
    faults
}

/// Checks one tool. `shown` has the previews of those before it, each with its tool.
fn check(
    entry: &RegisteredTool,
    set: &ToolSet,
    shown: &mut HashMap<String, String>,
) -> Result<(), String> {
    let declared = &entry.safeguards;
    let beside = |role: &str, name: &str| {
        set.whole(name).ok_or_else(|| format!("its {role} tool {name:?} is not among the tools"))
    };
    let usable = |role: &str, name: &str| match beside(role, name)? {
        other if other.broken => Err(format!("its {role} tool {name:?} cannot be called")),
        other => Ok(other),
    };
    // A reviewer may approve a call because it can be undone, so the undo tool must work.
    declared.undo.as_deref().map(|name| usable("undo", name)).transpose()?;
    // It is only an alternative, and a broken one reports the reason itself.
    declared.instead.as_deref().map(|name| beside("instead", name)).transpose()?;
    if let Some(name) = &entry.preview_name {
        let preview = usable("preview", name)?;
        if let Some(Preview::Named(_)) = &declared.preview {
            fits(entry, preview)?;
        }
        if let Some(other) = shown.get(name) {
            return Err(format!("its preview tool {name:?} is already the preview of {other:?}"));
        }
        shown.insert(name.clone(), entry.name().to_owned());
    }
    Ok(())
}

/// Logs what an author may have overlooked in a set without faults.
pub(super) fn warn(set: &ToolSet) {
    for entry in set.entries().iter().filter(|entry| !entry.broken) {
        if let Some(id) = blind(entry, set) {
            warning::once(
                entry.name(),
                &format!(
                    "it deletes by `{id}`, and no read-only tool (list_…, get_…, search_…) shows which there are"
                ),
            );
        }
        if let Some(said) = words::contradicted(entry) {
            warning::once(
                entry.name(),
                &format!("its description says {said:?}, and its declarations do not"),
            );
        }
    }
}

/// Checks that a preview changes nothing and takes the arguments of its tool.
fn fits(entry: &RegisteredTool, preview: &RegisteredTool) -> Result<(), String> {
    let name = preview.name();
    if !preview.worst().hints.is_read_only() {
        return Err(format!("its preview tool {name:?} is not read-only"));
    }
    let takes = |entry: &RegisteredTool| {
        let schema = &entry.tool.definition().input_schema;
        let mut schema: Value = serde_json::from_str(schema.get()).unwrap_or_default();
        undescribed(&mut schema);
        schema
    };
    if takes(entry) != takes(preview) {
        return Err(format!("its preview tool {name:?} takes other arguments"));
    }
    Ok(())
}

/// Removes the descriptions from a schema: those of a tool and its preview may differ.
fn undescribed(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(undescribed),
        Value::Object(members) => {
            // A property of that name has a schema as its value, not a string.
            members.retain(|name, value| !(name == "description" && value.is_string()));
            members.values_mut().for_each(undescribed);
        }
        _ => {}
    }
}

/// Returns the ID by which a tool deletes, if no other tool shows which IDs there are.
fn blind(entry: &RegisteredTool, set: &ToolSet) -> Option<String> {
    let deletes = match &entry.effects {
        Effects::Fixed(declared) => declared.destructive == Some(true),
        // A tool that can also read shows them itself.
        Effects::Table(table) => {
            table.worst().is_destructive()
                && !table.rows().iter().any(|row| row.hints().is_read_only())
        }
        Effects::Function(_) | Effects::Asked { .. } | Effects::Unclassified => false,
    };
    // A preview shows what the ID refers to.
    if !deletes || entry.preview_name.is_some() {
        return None;
    }
    let schema: Value = serde_json::from_str(entry.definition.input_schema.get()).ok()?;
    let required = schema["required"].as_array()?.iter().filter_map(Value::as_str);
    let mut ids = required.filter(|name| *name == "id" || name.ends_with("_id"));
    ids.find(|id| !set.entries().iter().any(|other| shows(other, entry, id))).map(str::to_owned)
}

/// Returns true if a tool shows what there is: it reads, and by its name it lists, gets or finds what the ID refers to.
fn shows(reader: &RegisteredTool, entry: &RegisteredTool, id: &str) -> bool {
    const VERBS: [&str; 5] = ["list", "get", "search", "find", "read"];
    let noun = match id.strip_suffix("_id") {
        Some(noun) => noun,
        None => entry.name().split_once('_').map_or(entry.name(), |(_, noun)| noun),
    };
    let verb = |name: &str| VERBS.iter().any(|verb| name.starts_with(verb));
    reader.worst().hints.is_read_only() && verb(reader.name()) && reader.name().contains(noun)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use candor_protocol::types::ToolAnnotations;
    use serde_json::json;

    use super::super::{JsonTool, Tool, ToolError};
    use super::*;

    fn tool(name: &str, argument: &str, read_only: bool) -> JsonTool {
        let schema = json!({
            "type": "object", "properties": {argument: {"type": "string"}}, "required": [argument],
        });
        let mut annotations = ToolAnnotations::new();
        annotations.read_only_hint = Some(read_only);
        annotations.destructive_hint = Some(!read_only);
        JsonTool::new(name, &schema, |_, _| async { Ok::<_, ToolError>("") })
            .annotations(annotations)
    }

    /// Returns the IDs by which tools delete and that no tool shows.
    fn blind_in(tools: Vec<JsonTool>) -> Vec<String> {
        let tools = tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>);
        let set = ToolSet::new(tools).unwrap();
        set.entries().iter().filter_map(|entry| blind(entry, &set)).collect()
    }

    #[test]
    fn delete_by_id_without_a_tool_that_shows_the_ids_is_found() {
        let delete = || tool("delete_invoice", "invoice_id", false);
        assert_eq!(blind_in(vec![delete()]), ["invoice_id"]);
        assert_eq!(blind_in(vec![delete(), tool("list_users", "page", true)]), ["invoice_id"]);
        assert_eq!(
            blind_in(vec![delete(), tool("list_invoices", "page", false)]),
            ["invoice_id"; 1]
        );
        for reader in ["list_invoices", "get_invoice", "search_invoices"] {
            assert!(blind_in(vec![delete(), tool(reader, "page", true)]).is_empty(), "{reader}");
        }
        let plain = || tool("delete_invoice", "id", false);
        assert_eq!(blind_in(vec![plain()]), ["id"]);
        assert!(blind_in(vec![plain(), tool("list_invoices", "page", true)]).is_empty());
        assert!(
            blind_in(vec![tool("delete_file", "path", false)]).is_empty(),
            "a path is not an ID"
        );
        let shown = delete().preview(|_, _| async { Ok::<_, ToolError>("") });
        assert!(blind_in(vec![shown]).is_empty());
    }
}

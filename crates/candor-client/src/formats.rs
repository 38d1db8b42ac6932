//! Tools in the formats of model providers.
//!
//! Providers accept less than JSON Schema. The root must be an object with `properties`, and must not have `oneOf`, `anyOf`,
//! `allOf`, `not`, `enum` or `$ref`. The client folds what such a root says into its properties. The result may allow more than the
//! tool does; `call_safely` checks arguments against the tool's own schema. A reference into a part that folding removed or changed
//! gets its target in `$defs`. A dangling reference is removed.
//!
//! OpenAI refuses an array schema without `items`, at any depth. Anthropic refuses a property at the root if its name is too long
//! or has characters that it does not accept. Such a property gets another name, and [`restored`] restores its own.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use crate::servers::digested;
use crate::tools::KnownTool;

pub(crate) fn openai(name: &str, tool: &KnownTool) -> Value {
    let mut schema = tool.input_schema().clone();
    each_schema(&mut schema, &mut add_items);
    let mut function = json!({"name": name, "parameters": accepted(&schema, &BTreeMap::new())});
    describe(&mut function, tool, LONGEST_DESCRIPTION);
    json!({"type": "function", "function": function})
}

pub(crate) fn anthropic(name: &str, tool: &KnownTool) -> Value {
    let schema = tool.input_schema();
    let mut format = json!({"name": name, "input_schema": accepted(schema, &renamed(schema))});
    describe(&mut format, tool, usize::MAX);
    format
}

/// Returns the arguments with the tool's own names, if a model used those from [`anthropic`].
pub(crate) fn restored(mut arguments: Value, tool: &KnownTool) -> Value {
    let Some(members) = arguments.as_object_mut() else { return arguments };
    let is_plain = |name: &String| tool.input_schema()["properties"].get(name).is_some();
    if !members.keys().all(is_plain) {
        for (own, other) in renamed(tool.input_schema()) {
            if !members.contains_key(&own)
                && let Some(value) = members.remove(&other)
            {
                members.insert(own, value);
            }
        }
    }
    arguments
}

/// Returns the properties at the root that Anthropic does not accept, each with its replacement name.
fn renamed(schema: &Value) -> BTreeMap<String, String> {
    let root = folded(schema, schema, DEEPEST);
    let names = root.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"_.-".contains(&b);
    let is_taken = |name: &str| (1..=64).contains(&name.len()) && name.bytes().all(is_allowed);
    let refused = names.filter(|name| !is_taken(name));
    refused.map(|name| (name.clone(), digested(name, name))).collect()
}

/// Renames properties at the root. The title keeps a property's own name, for the model.
fn rename(root: &mut Map<String, Value>, names: &BTreeMap<String, String>) {
    if names.is_empty() {
        return;
    }
    if let Some(Value::Object(properties)) = root.get_mut("properties") {
        let renamed = std::mem::take(properties).into_iter().map(|(name, mut schema)| {
            let Some(other) = names.get(&name) else { return (name, schema) };
            if let Value::Object(members) = &mut schema {
                members.entry("title").or_insert_with(|| name.into());
            }
            (other.clone(), schema)
        });
        *properties = renamed.collect();
    }
    if let Some(Value::Array(required)) = root.get_mut("required") {
        for name in required {
            if let Some(other) = name.as_str().and_then(|name| names.get(name)) {
                *name = other.as_str().into();
            }
        }
    }
    for about_names in ["propertyNames", "dependencies", "dependentRequired", "dependentSchemas"] {
        root.remove(about_names);
    }
}

/// Adds `items` to an array schema. If `items` is a list of schemas, it is the `prefixItems` of an older draft.
fn add_items(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(_)) = schema.get("items") {
        let first = schema.remove("items").unwrap_or_default();
        schema.entry("prefixItems").or_insert(first);
        if let Some(rest) = schema.remove("additionalItems") {
            schema.insert("items".to_owned(), rest);
        }
    }
    let is_array = match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|name| name == "array"),
        Some(name) => name == "array",
        None => schema.contains_key("prefixItems"),
    };
    if is_array {
        schema.entry("items").or_insert_with(|| json!({}));
    }
}

/// The maximum characters of a function description for OpenAI. Anthropic has no such limit.
const LONGEST_DESCRIPTION: usize = 1024;

fn describe(format: &mut Value, tool: &KnownTool, longest: usize) {
    if let Some(description) = tool.description().or(tool.title()) {
        format["description"] = match description.char_indices().nth(longest) {
            None => description.into(),
            Some(_) => {
                let cut: String = description.chars().take(longest - 1).collect();
                format!("{}…", cut.trim_end()).into()
            }
        };
    }
}

/// The maximum depth of references and alternatives at the root: a schema may refer to itself.
const DEEPEST: usize = 8;

/// Returns the schema in the form that providers accept, with these names for properties at the root.
fn accepted(schema: &Value, names: &BTreeMap<String, String>) -> Value {
    let mut root = folded(schema, schema, DEEPEST);
    rename(&mut root, names);
    root.insert("type".to_owned(), "object".into());
    root.entry("properties").or_insert_with(|| json!({}));
    with_targets(Value::Object(root), schema)
}

/// Returns the folded schema with a target for each of its references.
fn with_targets(mut folded: Value, whole: &Value) -> Value {
    let before = folded.clone();
    let mut targets =
        Targets { before: &before, whole, names: BTreeMap::new(), numbers: 0, moved: Vec::new() };
    targets.settle(&mut folded);
    while let Some((name, mut target)) = targets.moved.pop() {
        targets.settle(&mut target);
        if !folded["$defs"].is_object() {
            folded["$defs"] = json!({});
        }
        folded["$defs"][name] = target;
    }
    folded
}

/// Changes a schema and all schemas in it, the outer ones first. Values and examples are not schemas.
fn each_schema(schema: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    match schema {
        Value::Array(schemas) => {
            schemas.iter_mut().for_each(|schema| each_schema(schema, change));
        }
        Value::Object(members) => {
            change(members);
            for (keyword, value) in members {
                match (keyword.as_str(), value) {
                    ("const" | "enum" | "default" | "examples", _) => {}
                    (
                        "properties" | "patternProperties" | "$defs" | "definitions"
                        | "dependentSchemas",
                        Value::Object(named),
                    ) => named.values_mut().for_each(|schema| each_schema(schema, change)),
                    (_, value) => each_schema(value, change),
                }
            }
        }
        _ => {}
    }
}

/// The targets of the references in a folded schema.
struct Targets<'a> {
    /// The folded schema before its references change. `whole` is the tool's own schema.
    before: &'a Value,
    whole: &'a Value,
    /// The definition that the target of a fragment becomes. `None` if the target stays where it is.
    names: BTreeMap<String, Option<String>>,
    numbers: usize,
    /// Definitions whose own references are not settled yet.
    moved: Vec<(String, Value)>,
}

impl Targets<'_> {
    /// Redirects the references of a schema that lost their targets. Removes those without a target.
    fn settle(&mut self, schema: &mut Value) {
        each_schema(schema, &mut |members| {
            if let Some(Value::String(reference)) = members.get_mut("$ref") {
                match self.settled(reference) {
                    Some(settled) => *reference = settled,
                    None => drop(members.remove("$ref")),
                }
            }
        });
    }

    /// Returns a reference that has a target, or `None` if no target exists.
    fn settled(&mut self, reference: &str) -> Option<String> {
        // Decode the fragment: one target has many spellings, and must move only once.
        let fragment = reference.strip_prefix('#')?;
        let fragment = percent_decode_str(fragment).decode_utf8().ok()?.into_owned();
        if let Some(name) = self.names.get(&fragment) {
            return Some(
                name.as_ref().map_or_else(|| reference.to_owned(), |name| to_definition(name)),
            );
        }
        let target = at(self.whole, &fragment)?;
        let stays = fragment.is_empty() || at(self.before, &fragment) == Some(target);
        let name = (!stays).then(|| self.free_name());
        if let Some(name) = &name {
            self.moved.push((name.clone(), target.clone()));
        }
        self.names.insert(fragment, name.clone());
        Some(name.map_or_else(|| reference.to_owned(), |name| to_definition(&name)))
    }

    /// Returns an unused name for a definition.
    fn free_name(&mut self) -> String {
        loop {
            self.numbers += 1;
            let name = format!("target{}", self.numbers);
            if self.whole["$defs"].get(&name).is_none() {
                return name;
            }
        }
    }
}

fn to_definition(name: &str) -> String {
    format!("#/$defs/{name}")
}

/// Returns the target of a fragment: a JSON Pointer, or the name of an anchor.
fn at<'a>(schema: &'a Value, fragment: &str) -> Option<&'a Value> {
    if fragment.is_empty() || fragment.starts_with('/') {
        return schema.pointer(fragment);
    }
    match schema {
        Value::Object(members) if members.get("$anchor").is_some_and(|name| name == fragment) => {
            Some(schema)
        }
        Value::Object(members) => members.values().find_map(|member| at(member, fragment)),
        Value::Array(items) => items.iter().find_map(|item| at(item, fragment)),
        _ => None,
    }
}

/// Returns an object schema whose root has no alternatives and no reference.
fn folded(schema: &Value, whole: &Value, deeper: usize) -> Map<String, Value> {
    let mut root = schema.as_object().cloned().unwrap_or_default();
    let reference = root.remove("$ref");
    let all = take_list(&mut root, "allOf");
    let some = [take_list(&mut root, "oneOf"), take_list(&mut root, "anyOf")];
    for keyword in ["not", "enum", "const", "if", "then", "else"] {
        root.remove(keyword);
    }
    let Some(deeper) = deeper.checked_sub(1) else { return root };
    let target = reference.as_ref().and_then(Value::as_str).and_then(|to| to.strip_prefix('#'));
    let target = target.and_then(|fragment| percent_decode_str(fragment).decode_utf8().ok());
    let target = target.and_then(|fragment| at(whole, &fragment));
    for branch in target.into_iter().chain(&all) {
        let mut branch = folded(branch, whole, deeper);
        let required = take_required(&mut branch);
        add_properties(&mut root, branch);
        require(&mut root, required);
    }
    for alternatives in some.iter().filter(|alternatives| !alternatives.is_empty()) {
        let mut always: Option<Vec<Value>> = None;
        for alternative in alternatives {
            let mut branch = folded(alternative, whole, deeper);
            let required = take_required(&mut branch);
            match &mut always {
                None => always = Some(required),
                Some(always) => always.retain(|name| required.contains(name)),
            }
            add_properties(&mut root, branch);
        }
        require(&mut root, always.unwrap_or_default());
    }
    root
}

fn take_list(root: &mut Map<String, Value>, keyword: &str) -> Vec<Value> {
    match root.remove(keyword) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

fn take_required(branch: &mut Map<String, Value>) -> Vec<Value> {
    take_list(branch, "required")
}

fn require(root: &mut Map<String, Value>, names: Vec<Value>) {
    if let Value::Array(required) = root.entry("required").or_insert_with(|| json!([])) {
        for name in names {
            if !required.contains(&name) {
                required.push(name);
            }
        }
        if required.is_empty() {
            root.remove("required");
        }
    }
}

/// Adds a branch's properties. A property that already has another schema may match either one.
fn add_properties(root: &mut Map<String, Value>, mut branch: Map<String, Value>) {
    let Some(Value::Object(added)) = branch.remove("properties") else { return };
    let properties = root.entry("properties").or_insert_with(|| json!({}));
    let Some(properties) = properties.as_object_mut() else { return };
    for (name, schema) in added {
        match properties.get_mut(&name) {
            None => {
                properties.insert(name, schema);
            }
            Some(known) if *known == schema => {}
            Some(known) => {
                let either = known.as_object_mut().filter(|known| known.len() == 1);
                match either.and_then(|known| known.get_mut("anyOf")).and_then(Value::as_array_mut)
                {
                    Some(either) if either.contains(&schema) => {}
                    Some(either) => either.push(schema),
                    None => *known = json!({"anyOf": [known.take(), schema]}),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(schema: &Value) -> Value {
        super::accepted(schema, &BTreeMap::new())
    }

    #[test]
    fn root_schema_without_properties_gets_empty_properties() {
        assert_eq!(accepted(&json!({})), json!({"type": "object", "properties": {}}));
        let plain = json!({"type": "object", "properties": {"a": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/A"}]}},
            "required": ["a"], "additionalProperties": false, "$defs": {"A": {"type": "string"}}});
        assert_eq!(accepted(&plain), plain);
    }

    #[test]
    fn alternatives_at_the_root_are_folded_into_its_properties() {
        let tagged = json!({"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["kind", "x"]},
            {"$ref": "#/$defs/B"},
            {"type": "object", "properties": {"kind": {"const": "c"}}, "required": ["kind"]},
        ], "$defs": {"B": {"properties": {"kind": {"const": "b"}, "y": {"type": "integer"}}, "required": ["kind"]}}});
        let folded = accepted(&tagged);
        assert_eq!(
            folded["properties"]["kind"]["anyOf"],
            json!([{"const": "a"}, {"const": "b"}, {"const": "c"}])
        );
        assert_eq!(folded["required"], json!(["kind"]));
        assert_eq!(
            (&folded["properties"]["y"]["type"], folded.get("oneOf")),
            (&json!("integer"), None)
        );
        let all =
            json!({"allOf": [{"properties": {"a": true}, "required": ["a"]}], "required": ["b"]});
        assert_eq!(accepted(&all)["required"], json!(["b", "a"]));
        let endless = json!({"$ref": "#", "properties": {"a": {"type": "string"}}});
        assert_eq!(accepted(&endless)["properties"], json!({"a": {"type": "string"}}));
    }

    /// Returns the references of a schema that lead nowhere.
    fn dangling(schema: &Value, whole: &Value) -> Vec<String> {
        match schema {
            Value::Object(members) => {
                let own = members.get("$ref").and_then(Value::as_str).filter(|reference| {
                    at(whole, reference.strip_prefix('#').unwrap_or("?")).is_none()
                });
                let nested = members.values().flat_map(|member| dangling(member, whole));
                nested.chain(own.map(str::to_owned)).collect()
            }
            Value::Array(items) => items.iter().flat_map(|item| dangling(item, whole)).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn references_into_folded_alternatives_keep_their_targets() {
        let schema = json!({"type": "object", "properties": {
                "z": {"$ref": "#/anyOf/0"},
                "again": {"items": {"$ref": "#/%61nyOf/0"}},
                "kind": {"items": {"type": "integer"}},
                "item": {"$ref": "#/properties/kind/items"},
                "named": {"$ref": "#branch"},
                "root": {"$ref": "#"},
                "stays": {"$ref": "#/$defs/target2"},
                "nowhere": {"$ref": "#/anyOf/7", "type": "string"},
                "abroad": {"$ref": "https://example.org/schema"},
                "default": {"$ref": "#/anyOf/1/properties/x"},
                "value": {"default": {"$ref": "#/anyOf/7"}},
            },
            "anyOf": [
                {"properties": {"loop": {"$ref": "#/anyOf/0"}, "x": {"$ref": "#/anyOf/1/properties/x"}}},
                {"$anchor": "branch", "properties": {"kind": {"const": 1}, "x": {"type": "boolean"}}},
            ],
            "$defs": {"target2": {"type": "null"}}});
        let folded = accepted(&schema);
        let properties = &folded["properties"];
        let target = |property: &Value| {
            at(&folded, property["$ref"].as_str().unwrap().trim_start_matches('#')).unwrap()
        };
        let first = target(&properties["z"]);
        assert_eq!(first["properties"]["loop"], properties["z"], "{folded:#}");
        assert_eq!(properties["again"]["items"], properties["z"]);
        assert_eq!(target(&properties["item"]), &json!({"type": "integer"}));
        assert_eq!(target(&properties["named"])["properties"]["kind"], json!({"const": 1}));
        assert_eq!(target(&properties["stays"]), &json!({"type": "null"}));
        assert_eq!(target(&properties["default"]), &json!({"type": "boolean"}));
        assert_eq!(properties["nowhere"], json!({"type": "string"}));
        assert_eq!(properties["abroad"], json!({}));
        assert_eq!(properties["value"], schema["properties"]["value"], "a value is no schema");
        assert_eq!(dangling(&folded, &folded), ["#/anyOf/7"], "only that value: {folded:#}");
    }

    #[test]
    fn array_schemas_without_items_get_them_at_any_depth() {
        let mut schema = json!({"type": "object", "properties": {
            "items": {"type": "array", "default": {"type": "array"}},
            "maybe": {"type": ["null", "array"]},
            "pair": {"prefixItems": [{"type": "array"}, true]},
            "old": {"type": "array", "items": [{"type": "integer"}], "additionalItems": false},
            "typed": {"anyOf": [{"type": "array", "items": {"type": "array", "items": {"type": "null"}}}]},
            "text": {"type": "string"},
        }, "$defs": {"list": {"type": "array", "contains": {"type": "null"}}}});
        each_schema(&mut schema, &mut add_items);
        let expected = json!({"type": "object", "properties": {
            "items": {"type": "array", "items": {}, "default": {"type": "array"}},
            "maybe": {"type": ["null", "array"], "items": {}},
            "pair": {"prefixItems": [{"type": "array", "items": {}}, true], "items": {}},
            "old": {"type": "array", "prefixItems": [{"type": "integer"}], "items": false},
            "typed": {"anyOf": [{"type": "array", "items": {"type": "array", "items": {"type": "null"}}}]},
            "text": {"type": "string"},
        }, "$defs": {"list": {"type": "array", "items": {}, "contains": {"type": "null"}}}});
        assert_eq!(schema, expected);
    }

    #[test]
    fn references_to_a_renamed_property_keep_their_target() {
        let schema = json!({"type": "object", "properties": {"a b": {"type": "string"},
            "same": {"$ref": "#/properties/a b"}}, "required": ["a b"], "propertyNames": {"maxLength": 4}});
        let names = renamed(&schema);
        let found = super::accepted(&schema, &names);
        assert_eq!(names.keys().collect::<Vec<_>>(), ["a b"]);
        let other = &names["a b"];
        assert_eq!(found["properties"][other], json!({"type": "string", "title": "a b"}));
        assert_eq!(found["required"], json!([other]));
        assert_eq!(dangling(&found, &found), [""; 0], "{found:#}");
        assert_eq!(found.get("propertyNames"), None);
    }
}

//! The OpenAPI document of this API, generated from the table of operations, the guard, and the current tools.

mod table;

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use candor_server::protocol::types::Tool as Definition;
use candor_server::{Catalogue, Engine};
use serde_json::{Map, Value, json};

use super::{tag, tagged, tools};
use crate::Inner;
use crate::guard::{self, Access};
use crate::problem::Problem;
use crate::room::{self, Needs};
use crate::route::{Route, encoded};
use crate::serve::ConsoleRequest;
use table::{Answer, BodyKind, Content, OPERATIONS, Operation, Parameter};

/// The JSON schemas of bodies, by name. Data, not code: `json!` would add seconds to every build.
const SHAPES: &str = include_str!("shapes.json");

pub(crate) async fn answer(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
) -> Result<Response, Problem> {
    let catalogue = match &console.engine {
        Some(_) => Some(tools::catalogue(console, asked).await?),
        None => None,
    };
    let tools = catalogue.as_ref().map(Catalogue::list).unwrap_or_default();
    let mut document = Document::new(console, &asked.base);
    for operation in OPERATIONS {
        document.add(operation);
    }
    for tool in &tools {
        let preview =
            catalogue.as_ref().and_then(|all| all.find(&tool.name)?.preview.map(str::to_owned));
        document.add_tool(tool, preview.is_some());
    }
    let text = Bytes::from(document.0.to_string());
    Ok(tagged(&asked.parts.headers, &tag(&text), text))
}

struct Document(Value);

impl Document {
    fn new(console: &Inner, base: &str) -> Self {
        let version = console.engine.as_ref().map_or_else(
            || env!("CARGO_PKG_VERSION").to_owned(),
            |engine: &Engine| engine.about().info.version,
        );
        Self(json!({
            "openapi": "3.1.0",
            "info": {"title": console.title, "version": version},
            // The mount path. An empty one would not be a URL.
            "servers": [{"url": if base.is_empty() { "/" } else { base }}],
            "paths": {},
            "components": {
                "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
                // A test parses them, so this cannot fail.
                "schemas": serde_json::from_str::<Value>(SHAPES).unwrap_or_default(),
            },
        }))
    }

    fn add(&mut self, operation: &Operation) {
        let described = describe(operation, operation.parameters.iter(), operation.body);
        self.0["paths"][operation.path][operation.method] = described;
    }

    /// Adds the rows of a tool again, with its real name and schema: generated clients and fuzzers need them.
    fn add_tool(&mut self, tool: &Definition, has_preview: bool) {
        let key = component(&tool.name);
        let mut schema =
            serde_json::from_str(tool.input_schema.get()).unwrap_or_else(|_| json!({}));
        anchor(&mut schema, &format!("#/components/schemas/{key}"));
        self.0["components"]["schemas"][&key] = schema;
        for row in OPERATIONS.iter().filter(|row| row.path.starts_with("/tools/{name}")) {
            if row.id == "previewCall" && !has_preview {
                continue;
            }
            let others = row.parameters.iter().filter(|parameter| parameter.place != "path");
            let mut described = describe(row, others, row.body.map(|_| key.as_str()));
            described["operationId"] = format!("{}.{key}", row.id).into();
            let path = row.path.replace("{name}", &encoded(&tool.name));
            self.0["paths"][path][row.method] = described;
        }
    }
}

fn describe<'a>(
    operation: &Operation,
    parameters: impl Iterator<Item = &'a Parameter>,
    body: Option<&str>,
) -> Value {
    let mut answers = Map::new();
    for answer in operation.answers {
        answers.insert(answer.status.to_string(), content(answer));
    }
    let mut security = json!([{"bearer": []}]);
    let route = sample(operation);
    match guard::access(&route) {
        Access::Anybody => security = json!([]),
        // Anonymous access, unless the server authenticates its callers.
        Access::Caller => security = json!([{}, {"bearer": []}]),
        Access::Known | Access::Operator => {}
    }
    let problem = |words| content(&Answer { status: 0, words, content: Content::Problem });
    for (status, words) in
        [("401", "The caller is unknown."), ("403", "The caller lacks permission.")]
    {
        answers.entry(status).or_insert_with(|| problem(words));
    }
    if room::needs(&route) != Needs::Nothing {
        let share = "The caller reached its limit of concurrent requests.";
        for (status, words) in
            [("429", share), ("503", "The server reached its limit of concurrent requests.")]
        {
            answers.entry(status).or_insert_with(|| problem(words));
        }
    }
    answers.insert("default".to_owned(), problem("Any other error."));
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "tags": [operation.tag],
        "security": security,
        "parameters": parameters.map(parameter).collect::<Value>(),
        "responses": answers,
    });
    if let Some(shape) = body {
        described["requestBody"] = json!({"required": true, "content": as_json(shape)});
    }
    described
}

/// Returns a route of the operation.
fn sample(operation: &Operation) -> Route {
    let path = operation.path.replace("{name}", "x").replace("{id}", "x");
    Route::read(&path, operation.method == "post").unwrap_or(Route::OpenApi)
}

fn parameter(parameter: &Parameter) -> Value {
    let schema = match parameter.kind {
        BodyKind::Text => json!({"type": "string"}),
        BodyKind::Name => json!({"type": "string", "minLength": 1}),
        BodyKind::Number(from, to) => json!({"type": "integer", "minimum": from, "maximum": to}),
    };
    json!({
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.words,
        "required": parameter.required,
        "schema": schema,
    })
}

fn as_json(shape: &str) -> Value {
    json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{shape}")}}})
}

fn content(answer: &Answer) -> Value {
    let mut described = json!({"description": answer.words});
    let problem = json!({"schema": {"$ref": "#/components/schemas/Problem"}});
    let events = json!({"schema": {"type": "string"}});
    let and = |mut one: Value, kind: &str, other: Value| {
        one[kind] = other;
        one
    };
    described["content"] = match answer.content {
        Content::Nothing => return described,
        Content::Json(shape) => as_json(shape),
        Content::NoSuchTool => as_json("NoSuchTool"),
        Content::NoSuchToolOrProblem => and(as_json("NoSuchTool"), PROBLEM, problem),
        Content::Problem => json!({PROBLEM: problem}),
        Content::Result => and(as_json("CallResult"), EVENTS, events),
        Content::Events => json!({EVENTS: events}),
        Content::Lines => json!({"application/jsonl": {"schema": {"type": "string"}}}),
    };
    described
}

const PROBLEM: &str = "application/problem+json";
const EVENTS: &str = "text/event-stream";

/// Returns the name of a tool's schema. Only some characters are allowed, and different tools get different names.
fn component(tool: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let spelled: String = tool
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!(".{byte:02X}") })
        .collect();
    format!("input.{spelled}")
}

/// Rewrites references within a schema, which start at its own root, as references within the whole document.
fn anchor(schema: &mut Value, root: &str) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(|item| anchor(item, root)),
        Value::Object(members) => {
            for (name, value) in members {
                match (name.as_str(), value) {
                    ("$ref", Value::String(to)) => {
                        if let Some(within) = to.strip_prefix('#') {
                            *to = format!("{root}{within}");
                        }
                    }
                    // Values, not schemas.
                    ("enum" | "const" | "default" | "examples", _) => {}
                    (_, value) => anchor(value, root),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve;

    #[test]
    fn every_openapi_operation_is_served_with_its_method() {
        for row in OPERATIONS {
            let path = row.path.replace("{name}", "x").replace("{id}", "x");
            let route = Route::read(&path, row.method == "post").unwrap();
            let allowed = serve::allowed(&route);
            let method = row.method.to_uppercase();
            assert!(allowed.split(", ").any(|one| one == method), "{path}: {allowed}");
            for name in row.path.split('{').skip(1).filter_map(|rest| rest.split('}').next()) {
                let is_it = |p: &&Parameter| p.place == "path" && p.name == name && p.required;
                assert_eq!(row.parameters.iter().filter(is_it).count(), 1, "{path}");
            }
        }
    }

    #[test]
    fn every_api_route_has_an_openapi_operation() {
        // A new kind of route does not compile here until it is classified.
        fn is_api(route: &Route) -> bool {
            match route {
                Route::Home | Route::Session | Route::Asset(_) | Route::Page(_) => false,
                Route::Tools
                | Route::Tool(_)
                | Route::Verb(..)
                | Route::Resources(_)
                | Route::Approvals
                | Route::ApprovalEvents
                | Route::Approval(_)
                | Route::Decision(..)
                | Route::Grants
                | Route::Grant(_)
                | Route::History
                | Route::Export
                | Route::Operation(_)
                | Route::Resolve(_)
                | Route::OpenApi => true,
            }
        }
        let rows: Vec<Route> = OPERATIONS.iter().map(sample).collect();
        assert!(rows.iter().all(is_api));
        // 12 routes without inner kinds, four verbs, four for resources, two decisions: each once.
        let kinds: std::collections::HashSet<String> =
            rows.iter().map(|route| format!("{route:?}")).collect();
        assert_eq!((kinds.len(), rows.len()), (22, 22));
    }

    #[test]
    fn every_openapi_shape_exists_and_is_used() {
        let shapes: Map<String, Value> = serde_json::from_str(SHAPES).unwrap();
        let rows = OPERATIONS.iter().map(|row| describe(row, row.parameters.iter(), row.body));
        let all = rows.map(|row| row.to_string()).collect::<String>() + SHAPES;
        let referred: std::collections::HashSet<&str> = all
            .split("#/components/schemas/")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert_eq!(referred, shapes.keys().map(String::as_str).collect());
    }

    #[test]
    fn openapi_schema_names_are_valid_and_unique() {
        let names = ["a/b", "a.2Fb", "a b", "a_b", "é", "..", "a.b"];
        let spelled: std::collections::HashSet<String> = names.map(component).into_iter().collect();
        assert_eq!(spelled.len(), names.len());
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        assert!(spelled.iter().all(|name| name.chars().all(allowed)), "{spelled:?}");
    }

    #[test]
    fn anchored_recursive_schema_refers_to_itself() {
        let mut schema = json!({
            "properties": {"next": {"$ref": "#/$defs/Node"}, "whole": {"$ref": "#"}},
            "$defs": {"Node": {"default": {"$ref": "#/x"}}},
        });
        anchor(&mut schema, "#/components/schemas/input.t");
        assert_eq!(schema["properties"]["next"]["$ref"], "#/components/schemas/input.t/$defs/Node");
        assert_eq!(schema["properties"]["whole"]["$ref"], "#/components/schemas/input.t");
        assert_eq!(schema["$defs"]["Node"]["default"]["$ref"], "#/x", "data is left alone");
    }
}

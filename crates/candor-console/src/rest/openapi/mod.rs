//! The OpenAPI document of this API, generated from the route table and the current tools.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use candor_server::RunningServer;
use candor_server::protocol::types::Tool as Definition;
use serde_json::{Map, Value, json};

use super::body::view;
use super::{refused, tag, tagged};
use crate::Inner;
use crate::access::Access;
use crate::operation::{
    Answer, BAD, BodyKind, CALLED, Content, NO_SUCH, NO_SUCH_TOOL, NOT_JSON, Operation, Parameter,
    TOO_LARGE, UNAVAILABLE, problem,
};
use crate::problem::Problem;
use crate::request::ConsoleRequest;
use crate::route::{Backend, Route, encoded};

/// The JSON schemas of bodies, by name. Data, not code: `json!` would add seconds to every build.
const SHAPES: &str = include_str!("shapes.json");

pub(crate) async fn answer(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
    routes: &[Route],
) -> Result<Response, Problem> {
    let view = console.engine.as_ref().map(|_| view(console, asked)).transpose()?;
    let tools = match (&view, &console.engine) {
        (Some(view), Some(engine)) => {
            view.published_tools(engine.listing()).await.map_err(refused::problem)?
        }
        _ => Vec::new(),
    };
    let mut document = Document::new(console, &asked.base);
    let described = || routes.iter().filter_map(|route| Some((route, route.operation.as_ref()?)));
    described().for_each(|row| document.add(row));
    for tool in &tools {
        let has_preview = match &view {
            Some(view) => view.tool(&tool.name).await.is_ok_and(|tool| tool.preview.is_some()),
            None => false,
        };
        document.add_tool(described(), tool, has_preview);
    }
    let text = Bytes::from(document.0.to_string());
    Ok(tagged(&asked.parts.headers, &tag(&text), text))
}

struct Document(Value);

impl Document {
    fn new(console: &Inner, base: &str) -> Self {
        let version = console.engine.as_ref().map_or_else(
            || env!("CARGO_PKG_VERSION").to_owned(),
            |engine: &RunningServer| engine.about().info.version,
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

    fn add(&mut self, (route, operation): (&Route, &Operation)) {
        let described = describe(route, operation, operation.parameters.iter(), operation.body);
        self.insert(route.path, route.method, described);
    }

    fn insert(&mut self, path: &str, method: &str, described: Value) {
        self.0["paths"][path][method.to_ascii_lowercase()] = described;
    }

    /// Adds the rows of a tool again, with its real name and schema: generated clients and fuzzers need them.
    fn add_tool<'a>(
        &mut self,
        rows: impl Iterator<Item = (&'a Route, &'a Operation)>,
        tool: &Definition,
        has_preview: bool,
    ) {
        let key = component(&tool.name);
        let mut schema =
            serde_json::from_str(tool.input_schema.get()).unwrap_or_else(|_| json!({}));
        anchor(&mut schema, &format!("#/components/schemas/{key}"));
        self.0["components"]["schemas"][&key] = schema;
        for (route, operation) in rows.filter(|(route, _)| route.path.starts_with("/tools/{name}"))
        {
            if operation.id == "previewCall" && !has_preview {
                continue;
            }
            let others = operation.parameters.iter().filter(|parameter| parameter.place != "path");
            let shape = operation.body.map(|_| key.as_str());
            let mut described = describe(route, operation, others, shape);
            described["operationId"] = format!("{}.{key}", operation.id).into();
            let path = route.path.replace("{name}", &encoded(&tool.name));
            self.insert(&path, route.method, described);
        }
    }
}

fn describe<'a>(
    route: &Route,
    operation: &Operation,
    parameters: impl Iterator<Item = &'a Parameter>,
    body: Option<&str>,
) -> Value {
    let mut answers = Map::new();
    for answer in operation.answers.iter().copied().chain(implied(route, operation)) {
        answers.entry(answer.status.to_string()).or_insert_with(|| content(&answer));
    }
    answers.insert("default".to_owned(), content(&problem(0, "Any other error.")));
    let security = match route.access {
        Access::Anyone => json!([]),
        // Anonymous access, unless the server authenticates its callers.
        Access::Caller => json!([{}, {"bearer": []}]),
        Access::Authenticated | Access::Operator => json!([{"bearer": []}]),
    };
    let tag = route.path.split('/').nth(1).filter(|first| *first != "openapi.json");
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "tags": [tag.unwrap_or("about")],
        "security": security,
        "parameters": parameters.map(parameter).collect::<Value>(),
        "responses": answers,
    });
    if let Some(shape) = body {
        described["requestBody"] = json!({"required": true, "content": as_json(shape)});
    }
    described
}

/// Returns the responses that follow from what the route needs. A description may have others for the same status.
fn implied(route: &Route, operation: &Operation) -> Vec<Answer> {
    let mut answers = Vec::new();
    if route.runs {
        answers.extend(CALLED);
    }
    if operation.body.is_some() || !operation.parameters.is_empty() {
        answers.push(BAD);
    }
    if route.path.contains("{name}") {
        answers.push(NO_SUCH_TOOL);
    }
    if route.backend == Backend::Ledger {
        answers.extend([NO_SUCH, UNAVAILABLE]);
    }
    if operation.body.is_some() {
        answers.extend([TOO_LARGE, NOT_JSON]);
    }
    answers.push(problem(401, "The caller is unknown."));
    answers.push(problem(403, "The caller lacks permission."));
    if route.slot.is_some() {
        answers.push(problem(429, "The caller reached its limit of concurrent requests."));
        answers.push(problem(503, "The server reached its limit of concurrent requests."));
    }
    answers
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

use serde_json::{Value, json};

use super::Tool;

fn of(name: &str, input: &Value, output: Option<&Value>) -> String {
    Tool { name, input, output }.signature(200)
}

fn parameter(schema: &Value) -> String {
    let input = json!({"type": "object", "properties": {"x": schema}, "required": ["x"]});
    let line = of("t", &input, None);
    line.strip_prefix("t(x: ")
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap_or_else(|| panic!("{line}"))
        .to_owned()
}

#[test]
fn signature_is_one_line() {
    let input = json!({
        "type": "object",
        "properties": {
            "content": {"type": "string"},
            "path": {"type": "string"},
            "action": {"enum": ["read", "append", "replace", "delete"]},
            "limit": {"type": "integer", "default": 50}
        },
        "required": ["action", "path"]
    });
    let output = json!({"type": "object", "properties": {"result": {"type": "string"}}, "x-dedalus-box": {"field": "result"}});
    assert_eq!(
        of("manage_files", &input, Some(&output)),
        r#"manage_files(path: string, action: "read"|"append"|"replace"|"delete", content?: string, limit: integer = 50) -> string"#
    );
    assert_eq!(of("ping", &json!({"type": "object"}), None), "ping()");
}

#[test]
fn every_schema_type_has_a_short_form() {
    for (schema, expected) in [
        (json!({"type": "number"}), "number"),
        (json!({"type": "boolean"}), "boolean"),
        (json!({"type": ["string", "null"]}), "string|null"),
        (json!({"anyOf": [{"type": "null"}, {"type": "integer"}]}), "integer|null"),
        (json!({"type": "array", "items": {"type": "string"}}), "string[]"),
        (json!({"type": "array", "items": {"type": ["string", "integer"]}}), "(string|integer)[]"),
        (json!({"type": "array"}), "any[]"),
        (json!({"type": "object"}), "object"),
        (json!({"type": "object", "additionalProperties": false}), "{}"),
        (
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            "{[name]: integer}",
        ),
        (
            json!({"properties": {"a": {"type": "string"}, "b": {}}, "required": ["b"]}),
            "{b: any, a?: string}",
        ),
        (json!({"const": 5}), "5"),
        (json!({"enum": ["a", null]}), r#""a"|null"#),
        (json!({}), "any"),
        (json!(true), "any"),
        (json!(false), "never"),
        (
            json!({"oneOf": [{"properties": {"a": {"const": 1}}}, {"type": "string"}]}),
            "{a?: 1}|string",
        ),
    ] {
        assert_eq!(parameter(&schema), expected, "{schema}");
    }
    let many: Vec<_> = (0..20).collect();
    assert_eq!(parameter(&json!({"enum": many})), "0|1|2|3|4|5|6|7|…");
}

#[test]
fn long_signature_is_cut_from_the_inside_first() {
    let inner = json!({"type": "object", "properties": {"one": {"type": "string"}, "two": {"type": "string"}}});
    let input = json!({"type": "object", "properties": {"first": inner, "second": inner, "third": {"type": "integer"}}});
    let tool = Tool { name: "find", input: &input, output: Some(&inner) };
    for (width, expected) in [
        (
            200,
            "find(first?: {one?: string, two?: string}, second?: {one?: string, two?: string}, third?: integer) -> {one?: string, two?: string}",
        ),
        (60, "find(first?: {…}, second?: {…}, third?: integer) -> {…}"),
        (50, "find(first?: {…}, second?: {…}, …) -> {…}"),
        (30, "find(first?: {…}, …) -> {…}"),
        (16, "find(…) -> {…}"),
        (8, "find(…)…"),
        (1, "…"),
    ] {
        assert_eq!(tool.signature(width), expected);
    }
}

#[test]
fn recursive_schema_has_a_bounded_signature() {
    let tree = json!({"$defs": {"T": {"type": "object", "properties": {"l": {"$ref": "#/$defs/T"}, "r": {"$ref": "#/$defs/T"}}}}, "$ref": "#/$defs/T"});
    let tool = Tool { name: "t", input: &tree, output: None };
    assert_eq!(tool.signature(60), "t(l?: {l?: {…}, r?: {…}}, r?: {l?: {…}, r?: {…}})");
    assert!(of("t", &tree, None).chars().count() <= 200);
    let lists = json!({"properties": {"x": {"$ref": "#/properties/x/items", "items": {"$ref": "#/properties/x"}}}});
    assert!(of("t", &lists, Some(&lists)).chars().count() <= 200);
    let wide: serde_json::Map<_, _> =
        (0..5_000).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
    let line = of("t", &json!({"properties": wide}), None);
    assert!(line.ends_with(", …)") && line.chars().count() <= 200, "{line}");
    for odd in
        [json!(null), json!([]), json!({"properties": 1}), json!({"required": [1]}), json!("x")]
    {
        assert_eq!(of("t", &odd, None), "t()", "{odd}");
    }
}

#[test]
fn signature_escapes_control_characters() {
    let input = json!({"properties": {
        "a\u{1b}[2J": {"const": "\u{202e}x"},
        "b, c: string": {"default": {"k\u{1b}": "v"}},
        "\"": {"enum": ["\u{9b}".repeat(100)]},
        "": {"type": "string"}
    }});
    let line = of("t\u{202e}(x", &input, Some(&json!({"const": "\u{1b}"})));
    assert!(!line.chars().any(candor::operator::shown::fools), "{line}");
    assert!(line.starts_with(r#""t\u{202e}(x"("a\u{1b}[2J"?: "\u202ex""#), "{line}");
    assert!(line.contains(r#""b, c: string": any = "#), "{line}");
    assert!(line.contains(r#"""?: string"#), "{line}");
}

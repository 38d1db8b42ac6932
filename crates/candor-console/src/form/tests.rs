//! Schemas of every kind, including bad ones.

use serde_json::{Value, json};

use super::{Field, Kind, Text, form, outline, prefill, read, signature, type_of};

fn of(property: &Value) -> Field {
    member(&json!({"type": "object", "properties": {"x": property}}), "x")
}

fn member(schema: &Value, name: &str) -> Field {
    inside(&read(schema), name)
}

fn inside(field: &Field, name: &str) -> Field {
    let Kind::Group { fields, .. } = &field.kind else { panic!("{field:?} is no group") };
    fields.iter().find(|field| field.name == name).cloned().unwrap()
}

/// Returns the number of fields and their nesting depth.
fn extent(field: &Field) -> (usize, usize) {
    let within: Vec<&Field> = match &field.kind {
        Kind::Group { fields, rest } => fields.iter().chain(rest.as_deref()).collect(),
        Kind::List(item) => vec![item],
        Kind::Tuple(fields) | Kind::Shapes(fields) => fields.iter().collect(),
        _ => Vec::new(),
    };
    within
        .into_iter()
        .map(extent)
        .fold((1, 1), |(count, depth), (inner, deep)| (count + inner, depth.max(deep + 1)))
}

fn rendered(schema: &Value) -> String {
    form(&read(schema)).unwrap_or_default().into_string()
}

#[test]
fn fields_keep_the_order_of_the_schema() {
    let schema = json!({"type": "object", "required": ["zeta"], "properties": {
        "zeta": {"type": "string", "description": "Last, but first"},
        "alpha": {"type": "integer", "minimum": 1, "maximum": 5, "default": 3},
    }});
    let (zeta, alpha) = (member(&schema, "zeta"), member(&schema, "alpha"));
    assert!(zeta.required && !alpha.required);
    assert_eq!(zeta.text, "Last, but first");
    assert_eq!(alpha.default, Some(json!(3)));
    assert_eq!(alpha.limits, ["1 to 5"]);
    assert_eq!(
        signature("t", &read(&schema), None),
        "t(zeta: string, alpha?: integer = 3)",
        "the order is that of the schema"
    );
}

#[test]
fn nullable_type_is_recognized_in_every_spelling() {
    for schema in [
        json!({"type": ["string", "null"]}),
        json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        json!({"oneOf": [{"const": null}, {"type": "string"}]}),
        json!({"allOf": [{"anyOf": [{"type": "null"}, {"type": "string"}]}]}),
    ] {
        let field = of(&schema);
        assert!(field.nullable, "{schema}");
        assert_eq!(field.kind, Kind::Text(Text::Free), "{schema}");
        assert_eq!(type_of(&field), "string | null");
    }
    let field = of(&json!({"enum": ["a", null]}));
    assert!(field.nullable);
    assert!(matches!(&field.kind, Kind::Choice(picks) if picks.len() == 1));
}

#[test]
fn choices_come_from_enums_and_described_constants() {
    let field = of(&json!({"enum": ["a", 1, true]}));
    assert_eq!(type_of(&field), r#""a" | 1 | true"#);
    let field = of(&json!({"oneOf": [
        {"const": "read", "description": "Looks"},
        {"enum": ["delete"], "description": "Destroys"},
    ]}));
    let Kind::Choice(picks) = &field.kind else { panic!("{field:?}") };
    let told: Vec<(&Value, &str)> = picks.iter().map(|p| (&p.value, p.text.as_str())).collect();
    assert_eq!(told, [(&json!("read"), "Looks"), (&json!("delete"), "Destroys")]);
}

#[test]
fn enum_with_too_many_values_is_typed_instead_of_chosen() {
    let names: Vec<String> = (0..2000).map(|n| format!("n{n}")).collect();
    let field = of(&json!({"enum": names}));
    assert_eq!(field.kind, Kind::Text(Text::Line));
    assert_eq!(field.limits, ["one of 2000 values"]);
    assert_eq!(of(&json!({"enum": (0..2000).collect::<Vec<_>>()})).kind, Kind::Json);
}

#[test]
fn union_shapes_are_named_by_their_constant_member() {
    let field = of(&json!({"oneOf": [
        {"type": "object", "required": ["by", "to"], "properties": {"by": {"const": "mail"}, "to": {"type": "string"}}},
        {"type": "object", "required": ["by"], "properties": {"by": {"enum": ["file"]}, "path": {"type": "string"}}},
    ]}));
    let Kind::Shapes(shapes) = &field.kind else { panic!("{field:?}") };
    assert_eq!(type_of(&field), "mail | file");
    assert_eq!(inside(&shapes[0], "by").kind, Kind::Fixed(json!("mail")));
    // Without a tag, shapes are named by title or type, and no two names are equal.
    let field = of(&json!({"anyOf": [
        {"title": "Point", "type": "object", "properties": {"x": {"type": "number"}}},
        {"type": "array", "items": {"type": "integer"}},
        {"type": "array", "items": {"type": "integer"}},
    ]}));
    assert_eq!(type_of(&field), "Point | integer[] | integer[] (3)");
}

#[test]
fn members_beside_a_union_belong_to_every_shape() {
    let field = read(
        &json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}, "oneOf": [
            {"required": ["a"], "properties": {"a": {"type": "integer"}}},
            {"required": ["b"], "properties": {"b": {"type": "boolean"}}},
        ]}),
    );
    let Kind::Shapes(shapes) = &field.kind else { panic!("{field:?}") };
    for (shape, own) in shapes.iter().zip(["a", "b"]) {
        assert!(inside(shape, own).required);
        assert!(inside(shape, "id").required);
    }
}

#[test]
fn alternatives_of_required_members_are_no_union() {
    let field = read(
        &json!({"type": "object", "properties": {"phone": {"type": "string"}, "email": {"type": "string"}},
        "anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}),
    );
    assert_eq!(signature("t", &field, None), "t(phone?: string, email?: string)");
    assert_eq!(field.limits, ["needs phone or email"]);
}

#[test]
fn limits_use_the_singular_for_one() {
    for (schema, says) in [
        (json!({"type": "array", "items": {"type": "string"}, "minItems": 1}), "at least 1 item"),
        (
            json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2}),
            "1 to 2 items",
        ),
        (json!({"type": "string", "minLength": 1, "maxLength": 1}), "exactly 1 character"),
        (json!({"type": "integer", "minimum": 1}), "at least 1"),
    ] {
        assert_eq!(of(&schema).limits, [says]);
    }
}

#[test]
fn lists_tuples_maps_and_string_formats_are_recognized() {
    assert_eq!(
        type_of(&of(&json!({"type": "array", "items": {"enum": ["a", "b"]}}))),
        r#"("a" | "b")[]"#
    );
    let pair = json!({"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}]});
    assert_eq!(type_of(&of(&pair)), "[number, string]");
    let older = json!({"type": "array", "items": [{"type": "number"}]});
    assert_eq!(type_of(&of(&older)), "[number]");
    let map = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    assert_eq!(type_of(&of(&map)), "map of integer");
    let pattern = json!({"type": "object", "patternProperties": {"^x": {"type": "boolean"}}});
    assert_eq!(type_of(&of(&pattern)), "map of boolean");
    let kinds = ["date", "date-time", "email", "uri", "uuid", "password", "ipv4"]
        .map(|format| of(&json!({"type": "string", "format": format})).kind);
    let texts =
        [Text::Date, Text::DateTime, Text::Email, Text::Uri, Text::Uuid, Text::Secret, Text::Line];
    assert_eq!(kinds, texts.map(Kind::Text));
}

#[test]
fn members_beside_a_reference_override_its_target() {
    let schema = json!({"type": "object",
        "properties": {"a": {"$ref": "#/$defs/x%20y", "description": "Mine"}},
        "$defs": {"x y": {"type": "integer", "description": "Theirs", "minimum": 1}}});
    let field = member(&schema, "a");
    assert_eq!((field.text.as_str(), &field.kind), ("Mine", &Kind::Number { whole: true }));
    // As the validator resolves them: by name, and to places that are otherwise no schemas.
    let schema = json!({"type": "object",
        "properties": {"a": {"$ref": "#count"}, "b": {"type": "array", "items": {"$ref": "#/shared/b"}}},
        "$defs": {"n": {"$anchor": "count", "type": "integer"}},
        "shared": {"b": {"$ref": "#/shared/c"}, "c": {"type": "boolean"}}});
    assert_eq!(member(&schema, "a").kind, Kind::Number { whole: true });
    assert!(matches!(member(&schema, "b").kind, Kind::List(item) if item.kind == Kind::Truth));
    // The same text has two targets, so neither is taken.
    let schema = json!({"type": "object",
        "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"$ref": "inner"}},
        "$defs": {"n": {"type": "integer"}, "x": {
            "$id": "inner", "type": "object", "properties": {"c": {"$ref": "#/$defs/n"}},
            "$defs": {"n": {"type": "string"}}}}});
    assert_eq!(member(&schema, "a").kind, Kind::Json);
    assert_eq!(inside(&member(&schema, "b"), "c").kind, Kind::Json);
    // Nothing is fetched, and a missing target describes nothing.
    assert_eq!(of(&json!({"$ref": "https://example.org/schema.json"})).kind, Kind::Json);
    assert_eq!(of(&json!({"$ref": "#/nowhere"})).kind, Kind::Json);
}

#[test]
fn recursive_schema_makes_a_finite_form() {
    let list = json!({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {
        "value": {"type": "string"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}}}});
    let first = read(&list);
    let second = inside(&first, "next");
    assert!(second.nullable);
    let third = inside(&second, "next");
    assert_eq!(third.kind, Kind::Json, "the third is asked for as JSON");
    let bush = json!({"type": "object", "properties": {
        "left": {"$ref": "#"}, "right": {"$ref": "#"}, "all": {"type": "array", "items": {"$ref": "#"}}}});
    assert!(extent(&read(&bush)).0 < 100);
    for circle in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"oneOf": [{"$ref": "#"}, {"$ref": "#"}]}),
        json!({"anyOf": [{"$ref": "#"}]}),
    ] {
        assert!(extent(&read(&circle)).0 < 1000, "{circle}");
    }
}

#[test]
fn deep_or_large_schema_is_entered_as_json() {
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    assert!(extent(&read(&deep)).1 < 15);
    let many = |count: usize| -> Value {
        (0..count)
            .map(|n| (format!("p{n}"), json!({"type": "string"})))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    assert!(form(&read(&json!({"type": "object", "properties": many(200)}))).is_some());
    let large = read(&json!({"type": "object", "properties": many(5000)}));
    assert_eq!(large.kind, Kind::Json);
    assert!(form(&large).is_none(), "there is no form then, and JSON is left");
    // Many groups of many fields.
    let wide: serde_json::Map<String, Value> = (0..30)
        .map(|n| (format!("p{n}"), json!({"type": "object", "properties": many(30)})))
        .collect();
    let wide = json!({"type": "object", "properties": wide});
    assert!(extent(&read(&wide)).0 <= 500);
    assert!(rendered(&wide).len() < 1_000_000);
}

#[test]
fn invalid_schema_does_not_panic() {
    for schema in [
        json!(null),
        json!(true),
        json!([]),
        json!("object"),
        json!({"type": 7}),
        json!({"type": []}),
        json!({"type": ["unheard"]}),
        json!({"type": "object", "properties": []}),
        json!({"type": "object", "properties": {"x": 7, "y": null, "z": true}, "required": "x"}),
        json!({"type": "array", "items": 3}),
        json!({"enum": []}),
        json!({"enum": {}}),
        json!({"oneOf": [], "anyOf": 3, "allOf": [1, null]}),
        json!({"oneOf": [true, false]}),
        json!({"type": "object", "properties": {"x": {"oneOf": [{"properties": 1}, {"properties": {"a": 1}, "required": ["a"]}]}}}),
        json!({"$ref": 5, "const": {"a": 1}}),
        json!({"type": "object", "properties": {"x": {"minimum": "1", "pattern": 3, "description": {}, "default": null}}}),
    ] {
        let field = read(&schema);
        drop((
            form(&field),
            outline(&field, "x"),
            prefill(&schema),
            signature("t", &field, Some(&field)),
        ));
    }
    // A member without a valid value can only be omitted.
    let schema = json!({"type": "object", "properties": {"never": false, "x": {}}});
    assert_eq!(signature("t", &read(&schema), None), "t(x?: any)");
}

#[test]
fn json_prefill_has_exactly_the_required_members() {
    let schema = json!({"type": "object", "required": ["a", "b", "c", "d", "gone"], "properties": {
        "a": {"type": "string"}, "b": {"default": false}, "c": {"default": null}, "d": {"$ref": "#/$defs/n"},
        "e": {"type": "string", "default": "not me"}}, "$defs": {"n": {"type": "integer", "default": 0}}});
    let expected = json!({"a": null, "b": false, "c": null, "d": 0, "gone": null});
    assert_eq!(prefill(&schema).to_string(), expected.to_string());
    assert_eq!(prefill(&json!({"type": "object"})), json!({}));
    assert_eq!(prefill(&json!(null)), json!({}));
}

#[test]
fn result_type_is_shown_without_its_wrapper() {
    let (takes, boxed) = (
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"result": {"type": "number"}}}),
    );
    assert_eq!(signature("t", &read(&takes), Some(&read(&boxed))), "t() → number");
    let record = json!({"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "number"}}});
    assert_eq!(signature("t", &read(&takes), Some(&read(&record))), "t() → {id, n}");
}

#[test]
fn every_field_has_a_label_and_valid_aria_references() {
    let html = rendered(&json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "string", "description": "About a"},
        "b": {"type": ["boolean", "null"], "default": true},
        "c": {"type": "array", "items": {"type": "integer"}}}}));
    assert!(html.contains(r#"<label for="f1"><span class="name">a</span>"#), "{html}");
    assert!(html.contains(r#"aria-describedby="f1-hint f1-error""#), "{html}");
    assert!(html.contains(r#"<option value="">default: true</option>"#), "{html}");
    assert!(html.contains("data-null"), "{html}");
    // A template has its own IDs.
    let ids: Vec<&str> =
        html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(ids.len(), unique.len(), "{ids:?}");
    for id in html
        .split("aria-describedby=\"")
        .skip(1)
        .flat_map(|rest| rest.split('"').next().unwrap().split(' '))
    {
        assert!(ids.contains(&id), "{id} is nowhere");
    }
}

#[test]
fn texts_of_a_schema_are_never_markup() {
    let hostile = r#""><script>alert('x')</script>"#;
    let schema = json!({"type": "object", "properties": {
        hostile: {"type": "string", "description": hostile, "default": hostile, "pattern": hostile},
        "choice": {"enum": [hostile], "default": hostile},
        "fixed": {"const": hostile},
        "list": {"type": "array", "items": {"type": "string", "description": hostile}},
        "shape": {"oneOf": [{"title": hostile, "type": "integer"}, {"title": "\u{202e}b", "type": "object", "properties": {hostile: {}}}]},
    }, "required": [hostile, "fixed"]});
    let html = rendered(&schema) + &outline(&read(&schema), hostile).unwrap().into_string();
    assert!(!html.contains("<script") && !html.contains("\">alert"), "{html}");
    assert!(html.contains("&lt;script&gt;"));
    assert!(html.contains("[U+202E]b"), "what turns the writing round is seen: {html}");
}

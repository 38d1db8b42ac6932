//! Hostile schemas and values. These tests count the cost in steps, not in time.

use serde_json::{Value, json};

use super::run::{Run, STEPS};
use super::{CheckResult, Draft, Validator};

fn compiled(schema: &Value) -> Validator {
    Validator::compile(schema, Draft::Twenty).unwrap()
}

/// A tenth of what a check may cost: tests are not optimized.
const ENOUGH: usize = STEPS / 10;

fn verdict(schema: &Value, value: &Value) -> CheckResult {
    compiled(schema).verdict(value, &mut Run::of(ENOUGH))
}

/// Returns the result, and the steps that it took.
#[track_caller]
fn checked(schema: &Value, value: &Value) -> (bool, usize) {
    let mut run = Run::of(ENOUGH);
    let verdict = compiled(schema).verdict(value, &mut run);
    assert_ne!(verdict, CheckResult::TooCostly);
    (verdict == CheckResult::Fits, ENOUGH - run.steps_left())
}

/// Returns a schema in which each definition applies the next one twice.
fn doubling(levels: usize, keyword: &str, last: &Value) -> Value {
    let mut definitions = serde_json::Map::new();
    for i in 0..levels {
        let next = json!({"$ref": format!("#/$defs/{}", i + 1)});
        definitions.insert(i.to_string(), json!({keyword: [next, {"allOf": [next]}]}));
    }
    definitions.insert(levels.to_string(), last.clone());
    json!({"$ref": "#/$defs/0", "$defs": definitions})
}

#[test]
fn reference_cycle_at_the_same_value_ends() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}, {"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"oneOf": [{"$ref": "#/$defs/a"}]}}}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"if": {"$ref": "#"}, "then": {"$ref": "#"}}),
        json!({"$dynamicRef": "#x", "$dynamicAnchor": "x"}),
        json!({"unevaluatedProperties": false, "allOf": [{"$ref": "#"}, {"properties": {"a": true}}]}),
    ] {
        let (fits, steps) = checked(&schema, &json!({"a": 1}));
        assert!(fits && steps < 100, "{schema}: {fits} after {steps}");
    }
    // Keywords beside the circle still count.
    let schema = json!({"allOf": [{"$ref": "#"}], "type": "object"});
    assert!(!checked(&schema, &json!(1)).0);
}

#[test]
fn check_with_exponential_work_is_too_costly() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let last = if keyword == "allOf" { json!({"minimum": 0}) } else { json!({"minimum": 2}) };
        let validator = compiled(&doubling(30, keyword, &last));
        assert_eq!(validator.verdict(&json!(1), &mut Run::of(ENOUGH)), CheckResult::TooCostly);
    }
    let inside =
        json!({"properties": {"a": {"$ref": "#"}}, "patternProperties": {"^a": {"$ref": "#"}}});
    let mut value = json!(1);
    for _ in 0..40 {
        value = json!({"a": value});
    }
    assert_eq!(verdict(&inside, &value), CheckResult::TooCostly);
    // A check that was given up is not negated into a yes.
    let negated = json!({"not": doubling(30, "allOf", &json!({"minimum": 0}))["$defs"]["0"], "$defs": doubling(30, "allOf", &json!({"minimum": 0}))["$defs"]});
    assert_eq!(verdict(&negated, &json!(1)), CheckResult::TooCostly);
}

#[test]
fn long_reference_chain_is_shortened_or_too_costly() {
    let mut definitions = serde_json::Map::new();
    for i in 0..20_000 {
        definitions.insert(format!("r{i}"), json!({"$ref": format!("#/$defs/r{}", i + 1)}));
        definitions
            .insert(format!("a{i}"), json!({"allOf": [{"$ref": format!("#/$defs/a{}", i + 1)}]}));
    }
    definitions.insert("r20000".to_owned(), json!({"type": "string"}));
    definitions.insert("a20000".to_owned(), json!({"type": "string"}));
    let straight = json!({"$ref": "#/$defs/r19990", "$defs": definitions});
    assert_eq!(checked(&straight, &json!("x")), (true, 0));
    let deep = json!({"$ref": "#/$defs/a0", "$defs": definitions});
    assert_eq!(verdict(&deep, &json!("x")), CheckResult::TooCostly);
    assert!(compiled(&deep).failures(&json!(1)).len() <= 100);
}

#[test]
fn deep_value_is_checked_against_a_recursive_schema() {
    let schema = json!({
        "$defs": {"tree": {"allOf": [{"anyOf": [
            {"type": "null"},
            {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/tree"}, "unevaluatedProperties": false},
        ]}]}},
        "$ref": "#/$defs/tree",
    });
    let deep = |leaf: Value| {
        (0..128)
            .fold(leaf, |value, i| if i % 2 == 0 { json!([value]) } else { json!({"a": value}) })
    };
    let (fits, steps) = checked(&schema, &deep(json!(null)));
    assert!(fits && steps < 2_000, "{steps}");
    assert!(!checked(&schema, &deep(json!(1))).0);
    assert!(!compiled(&schema).failures(&deep(json!(1))).is_empty());
}

#[test]
fn unique_items_check_avoids_pairwise_comparison() {
    let schema = json!({"uniqueItems": true});
    let mut items: Vec<Value> = (0..100_000).map(|i| json!({"a": [i], "b": "same"})).collect();
    let (fits, steps) = checked(&schema, &items.clone().into());
    assert!(fits && steps < 1_000_000, "{steps}");
    items.push(json!({"b": "same", "a": [5.0]}));
    assert!(!checked(&schema, &items.into()).0);
}

#[test]
fn number_of_reported_failures_is_limited() {
    let schema = json!({"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "additionalProperties": false});
    let items: Value = (0..200_000).map(Value::from).collect();
    let (fits, steps) = checked(&schema, &items);
    assert!(!fits && steps <= 200_010, "{steps}");
    assert_eq!(compiled(&schema).failures(&items).len(), 100);
    let members: Value = (0..100_000).map(|i| (i.to_string(), json!(0))).collect();
    assert_eq!(compiled(&schema).failures(&members).len(), 1);
}

#[test]
fn large_enum_and_properties_cost_one_search_per_item() {
    let names: Vec<String> = (0..50_000).map(|i| format!("n{i}")).collect();
    let properties: Value =
        names.iter().map(|name| (name.clone(), json!({"type": "integer"}))).collect();
    let schema = json!({"items": {"enum": names}, "properties": properties, "required": names});
    let items: Value = names.iter().rev().map(|name| json!(name)).collect();
    let (fits, steps) = checked(&schema, &items);
    assert!(fits && steps < 1_000_000, "{steps}");
    let members: Value = names.iter().rev().map(|name| (name.clone(), json!(1))).collect();
    let (fits, steps) = checked(&schema, &members);
    assert!(fits && steps < 1_000_000, "{steps}");
}

#[test]
fn costly_pattern_is_too_costly_before_it_runs() {
    let schema = json!({"pattern": r"(\p{L}{1,20}\p{N}{1,20}){1,3}$"});
    assert_eq!(verdict(&schema, &json!("a1".repeat(400_000))), CheckResult::TooCostly);
    // Usual patterns are not given up.
    let schema = json!({"pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"});
    let (fits, steps) = checked(&schema, &json!("QUJD".repeat(200_000)));
    // Their estimated cost also depends on the engines that other crates enable.
    assert!(fits && steps < ENOUGH, "{steps}");
}

#[test]
fn long_member_name_is_not_copied_for_every_schema() {
    let many: Value = (0..40_000).map(|i| (i.to_string(), json!({"type": "null"}))).collect();
    let schema = json!({"properties": {"x".repeat(300_000): {"properties": many}}});
    assert_eq!(verdict(&schema, &json!({})), CheckResult::Fits);
}

#[test]
fn nested_unevaluated_properties_never_refuse_a_valid_value() {
    let mut schema = json!({"unevaluatedProperties": false, "properties": {"a": true}});
    for _ in 0..40 {
        schema = json!({"anyOf": [schema.clone()], "unevaluatedProperties": false});
    }
    let verdict = verdict(&schema, &json!({"a": 1}));
    assert!(matches!(verdict, CheckResult::Fits | CheckResult::TooCostly));
}

//! Another validator's opinion: for random schemas and values both say the same.

#![allow(missing_docs, reason = "these are tests")]

use candor_schema::Schema;
use jsonschema::PatternOptions;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

const CASES: u32 = 500;

const DIALECTS: [&str; 5] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-04/schema#",
];

fn name() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "c", "ab", "x/y~"]).prop_map(str::to_owned)
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-3..6_i64).prop_map(Value::from),
        (-6..12_i64).prop_map(|n| Value::from(n as f64 / 2.0)),
        select(vec![
            json!(0.1),
            json!(0.3),
            json!(1e300),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(-0.0)
        ]),
    ]
}

fn text() -> impl Strategy<Value = Value> {
    prop_oneof![
        name().prop_map(Value::from),
        select(vec![
            "",
            "é🐲",
            "aaaa",
            "12",
            "2020-02-29",
            "10:00:00Z",
            "a@b.c",
            "::1",
            "/a",
            "http://a/b"
        ])
        .prop_map(Value::from),
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), number(), text()]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((name(), inner), 0..4).prop_map(|members| members.into_iter().collect::<Value>()),
        ]
    })
}

/// A keyword that asks for something on its own. A schema that comes back to itself at the same value may have no
/// answer, so references only lead to later definitions here.
fn assertion(references: &'static [&'static str]) -> impl Strategy<Value = (String, Value)> {
    let types = ["null", "boolean", "integer", "number", "string", "array", "object"];
    let count = || (0..4_u64).prop_map(Value::from);
    let names = || subsequence(vec!["a", "b", "c", "ab"], 1..3).prop_map(Value::from);
    prop_oneof![
        3 => select(types.to_vec()).prop_map(|name| ("type".to_owned(), json!(name))),
        1 => subsequence(types.to_vec(), 1..4).prop_map(|names| ("type".to_owned(), json!(names))),
        1 => value().prop_map(|value| ("const".to_owned(), value)),
        1 => vec(value(), 1..4).prop_map(|values| ("enum".to_owned(), unique(values))),
        2 => (select(vec!["minimum", "maximum"]), number()).prop_map(|(k, v)| (k.to_owned(), v)),
        1 => select(vec![json!(2), json!(0.1), json!(0.5), json!(1.5), json!(3)])
            .prop_map(|v| ("multipleOf".to_owned(), v)),
        3 => (
            select(vec!["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"]),
            count(),
        )
            .prop_map(|(k, v)| (k.to_owned(), v)),
        1 => any::<bool>().prop_map(|v| ("uniqueItems".to_owned(), json!(v))),
        1 => select(vec!["^a", "b$", "^\\d+$", "^[^/]*$", "\\w{2}", "é"])
            .prop_map(|v| ("pattern".to_owned(), json!(v))),
        1 => select(vec!["date", "time", "email", "ipv6", "uri", "json-pointer", "unknown"])
            .prop_map(|v| ("format".to_owned(), json!(v))),
        2 => names().prop_map(|v| ("required".to_owned(), v)),
        1 => (name(), names()).prop_map(|(n, v)| ("dependencies".to_owned(), json!({n: v}))),
        1 => (name(), names()).prop_map(|(n, v)| ("dependentRequired".to_owned(), json!({n: v}))),
        1 => select(references.to_vec()).prop_map(|v| match v {
            "" => ("title".to_owned(), json!("no reference")),
            target => ("$ref".to_owned(), json!(target)),
        }),
    ]
}

/// Old drafts want options that differ.
fn unique(values: Vec<Value>) -> Value {
    let mut seen = std::collections::HashSet::new();
    values.into_iter().filter(|value| seen.insert(value.to_string())).collect()
}

fn schema(references: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let leaf = vec(assertion(references), 0..3).prop_map(object);
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let one = select(vec![
            "not", "if", "then", "else", "contains", "items", "additionalItems", "propertyNames",
            "additionalProperties", "unevaluatedProperties", "unevaluatedItems",
        ]);
        let inner_or_flag = || prop_oneof![3 => inner.clone(), 1 => Just(json!(false)), 1 => Just(json!({}))];
        let applied = prop_oneof![
            5 => (one, inner_or_flag()).prop_map(|(k, v)| (k.to_owned(), v)),
            // Deeper in the value it may begin again.
            1 => select(vec![
                ("items", json!({"$ref": "#"})),
                ("properties", json!({"a": {"$ref": "#"}, "b": {"$ref": "#/definitions/x"}})),
                ("additionalProperties", json!({"$ref": "#/definitions/x"})),
            ])
            .prop_map(|(k, v)| (k.to_owned(), v)),
            3 => (select(vec!["allOf", "anyOf", "oneOf"]), vec(inner.clone(), 1..3))
                .prop_map(|(k, v)| (k.to_owned(), Value::from(v))),
            1 => vec(inner.clone(), 1..3).prop_map(|v| ("prefixItems".to_owned(), Value::from(v))),
            3 => vec((name(), inner_or_flag()), 1..3)
                .prop_map(|v| ("properties".to_owned(), v.into_iter().collect())),
            1 => vec((select(vec!["^a", "b", "^.$"]), inner.clone()), 1..3).prop_map(|v| {
                ("patternProperties".to_owned(), v.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
            }),
            1 => (name(), inner.clone()).prop_map(|(n, v)| ("dependentSchemas".to_owned(), json!({n: v}))),
        ];
        (vec(assertion(references), 0..2), vec(applied, 1..4))
            .prop_map(|(asserted, applied)| object([applied, asserted].concat()))
    })
}

fn object(keywords: Vec<(String, Value)>) -> Value {
    Value::Object(keywords.into_iter().collect::<Map<_, _>>())
}

/// A whole document, with the definitions that its references mean.
fn document() -> impl Strategy<Value = Value> {
    (
        schema(&["#/definitions/x", "#/definitions/y"]),
        schema(&["#/definitions/y"]),
        schema(&[""]),
        select(DIALECTS.to_vec()),
    )
        .prop_map(|(root, x, y, dialect)| {
            let mut root = root;
            root["$schema"] = json!(dialect);
            root["definitions"] = json!({"x": x, "y": y});
            root
        })
}

/// Where opinions differ for a reason.
fn is_disputed(document: &Value, values: &[Value]) -> bool {
    let text = document.to_string();
    let has = |keyword: &str| text.contains(&format!("\"{keyword}\":"));
    // Only since 2020-12 what `contains` finds is evaluated.
    let counts_contained = text.contains("2019-09") && has("contains") && has("unevaluatedItems");
    // For us a number is the decimal that it is written as, also beyond what doubles can tell apart.
    let wide = ["e+300", "18446744073709551615", "-9223372036854775808"];
    let huge = values.iter().any(|value| wide.iter().any(|wide| value.to_string().contains(wide)));
    counts_contained || (huge && has("multipleOf"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn result_matches_another_validator(document in document(), values in vec(value(), 8)) {
        if is_disputed(&document, &values) {
            return Ok(());
        }
        let ours = Schema::compile(&document.to_string());
        let theirs = jsonschema::options()
            .with_pattern_options(PatternOptions::regex())
            .should_validate_formats(true)
            .build(&document);
        let (ours, theirs) = match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => (ours, theirs),
            (Err(_), Err(_)) => return Ok(()),
            (Ok(_), Err(error)) => return Err(TestCaseError::fail(format!("only they refuse: {error}"))),
            (Err(error), Ok(_)) => return Err(TestCaseError::fail(format!("only we refuse: {error}"))),
        };
        for value in values {
            let checked = ours.check(&value);
            prop_assert_eq!(checked.is_ok(), theirs.is_valid(&value), "{}: {:?}", value, checked);
            if let Err(invalid) = checked {
                prop_assert!(!invalid.violations.is_empty());
            }
        }
    }
}

//! Which rows are refused: those that no call matches first, and no others.

use candor_hints::{Condition, Hints, RowFlaw};
use serde_json::json;

use super::*;
use candor_schema::Schema;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::Map;

/// Every value that an enumerable argument can have.
fn universe() -> Vec<Value> {
    let mut all: Vec<Value> = (-1..=4).map(Value::from).collect();
    all.extend(["read", "/x", "/x/y", "/x/../y", "x", ""].map(Value::from));
    all.extend([json!(true), json!(false), Value::Null, json!([]), json!({"a": 1})]);
    all
}

/// A schema that allows nothing outside the universe.
fn small_property() -> impl Strategy<Value = Value> {
    let integers = (-1..=4_i32, 0..=3_i32).prop_map(
        |(from, more)| json!({"type": "integer", "minimum": from, "maximum": (from + more).min(4)}),
    );
    let shape = prop_oneof![
        3 => subsequence(universe(), 1..5).prop_map(|values| json!({"enum": values})),
        2 => integers,
        1 => Just(json!({"type": "boolean"})),
        1 => Just(json!({"type": ["boolean", "null"]})),
        1 => Just(json!({"anyOf": [{"type": "null"}, {"enum": ["read", "/x"]}]})),
        1 => Just(json!({"oneOf": [{"const": "read"}, {"const": 1}, {"const": "/x/y"}]})),
        1 => Just(json!({"type": "integer", "exclusiveMinimum": -1, "maximum": 4, "multipleOf": 2})),
    ];
    (shape, prop::option::weighted(0.2, select(universe()))).prop_map(|(mut shape, default)| {
        if let Some(default) = default {
            shape["default"] = default;
        }
        shape
    })
}

fn any_test() -> impl Strategy<Value = Condition> {
    let bound = || prop::option::of((-2..=8_i32).prop_map(|half| f64::from(half) / 2.0));
    prop_oneof![
        4 => subsequence(universe(), 1..3).prop_map(Condition::OneOf),
        2 => (bound(), bound()).prop_map(|(from, to)| Condition::Range(from, to)),
        1 => select(vec!["/x", "/", "x", "/x/y"]).prop_map(|at| Condition::Below(at.into())),
        1 => select(vec!["/*", "/**", "/x/*", "*"]).prop_map(|at| Condition::Glob(at.into())),
        1 => Just(Condition::Present),
        1 => Just(Condition::Absent),
    ]
}

fn any_row() -> impl Strategy<Value = EffectRow> {
    prop::collection::vec((select(vec!["a", "b"]), any_test()), 0..3).prop_map(|tests| {
        let mut row: Option<EffectRow> = None;
        for (at, test) in tests {
            row = Some(match row {
                None => EffectRow::when(at, test),
                Some(row) => row.and(at, test),
            });
        }
        row.unwrap_or_else(|| EffectRow::otherwise(Hints::READS))
    })
}

fn schema(a: &Value, b: &Value, needs: [bool; 2]) -> Value {
    let required: Vec<&str> =
        ["a", "b"].into_iter().zip(needs).filter(|(_, need)| *need).map(|(n, _)| n).collect();
    json!({
        "type": "object", "properties": {"a": a, "b": b}, "required": required,
        "additionalProperties": false,
    })
}

/// All calls that a schema allows, of those whose arguments are in the universe.
fn calls(schema: &Value) -> Vec<Value> {
    let compiled = Schema::compile(&schema.to_string()).unwrap();
    let choices = || universe().into_iter().map(Some).chain([None]);
    let call = |a: Option<Value>, b: Option<Value>| {
        let members = [("a", a), ("b", b)].into_iter();
        let members = members.filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(members.collect::<Map<_, _>>())
    };
    choices()
        .flat_map(|a| choices().map(move |b| call(a.clone(), b)))
        .filter(|call| compiled.check(call).is_ok())
        .collect()
}

/// Returns the table with the defaults of a schema. Refuses no row.
fn with_defaults(rows: &[EffectRow], schema: &Value) -> EffectTable {
    let table = rows.iter().cloned().fold(EffectTable::new(), EffectTable::row);
    let domains = Domains::of(schema);
    let arguments = ["a", "b"].map(|name| domains.argument(&Pointer::from(name)));
    arguments.into_iter().flat_map(|argument| argument.defaults).fold(
        table,
        |table, (at, value, null)| match null {
            true => table.nullable_default_of(at.as_str(), value),
            false => table.default_of(at.as_str(), value),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// If all calls can be tried, the rows that no call matches first are refused, and no others.
    #[test]
    fn refused_rows_are_those_that_no_call_matches_first(
        a in small_property(), b in small_property(), needs: [bool; 2],
        rows in prop::collection::vec(any_row(), 1..5),
    ) {
        let schema = schema(&a, &b, needs);
        let calls = calls(&schema);
        let table = with_defaults(&rows, &schema);
        let domains = Domains::of(&schema);
        let flaws: HashMap<usize, RowFlaw<'_>> =
            table.flaws(|at| domains.argument(at).domain).into_iter().collect();
        let reached: Vec<Option<usize>> = calls.iter().map(|call| table.first(call)).collect();
        for (number, row) in rows.iter().enumerate() {
            let matched = reached.contains(&Some(number));
            match flaws.get(&number) {
                None => prop_assert!(matched || calls.is_empty(), "row {number} {row:?} of {schema}"),
                // The row is also refused if only one of its values is a mistake.
                Some(RowFlaw::Value { at, value }) => {
                    let alone = EffectTable::new().row(EffectRow::when(at.as_str(), Condition::equals((*value).clone())));
                    let defaults = with_defaults(alone.rows(), &schema);
                    prop_assert!(calls.iter().all(|call| defaults.first(call).is_none()), "{value} of {schema}");
                }
                Some(flaw) => prop_assert!(!matched, "row {number} {row:?} is {flaw:?} of {schema}"),
            }
        }
        let all = with_defaults(&[rows, vec![EffectRow::otherwise(Hints::READS)]].concat(), &schema);
        let last = all.rows().len() - 1;
        let left = calls.iter().any(|call| all.first(call) == Some(last));
        prop_assert_eq!(table.covers(|at| domains.argument(at).domain), !left);
    }

    /// The same for arguments whose alternatives depend on each other, directly and inside an argument.
    #[test]
    fn rows_over_alternatives_are_refused_if_no_call_matches_first(
        forms in prop::collection::vec((small_property(), small_property(), any::<[bool; 2]>(), 0..3_usize), 1..4),
        rows in prop::collection::vec(any_row(), 1..4), inside: bool, optional: bool,
    ) {
        let forms: Vec<Value> = forms.into_iter().map(|(a, b, needs, left_out)| {
            // A default counts only if all alternatives agree on it.
            let without_default = |mut property: Value| {
                property.as_object_mut().unwrap().remove("default");
                property
            };
            let mut form = schema(&without_default(a), &without_default(b), needs);
            if let Some(name) = ["a", "b"].get(left_out) {
                form["properties"].as_object_mut().unwrap().remove(*name);
                form["required"].as_array_mut().unwrap().retain(|required| required != name);
            }
            form
        }).collect();
        let union = json!({"anyOf": forms});
        let calls: Vec<Value> = forms.iter().flat_map(calls).collect();
        let (schema, rows, calls) = if inside {
            let needs = if optional { json!([]) } else { json!(["in"]) };
            let schema = json!({"type": "object", "properties": {"in": union}, "required": needs});
            let deeper = rows.iter().map(|row| {
                let mut tests = row.tests().iter();
                let place = |at: &Pointer| format!("/in{at}");
                let first = tests.next().map(|(at, test)| EffectRow::when(place(at).as_str(), test.clone()));
                let first = first.unwrap_or_else(|| EffectRow::otherwise(Hints::READS));
                tests.fold(first, |row, (at, test)| row.and(place(at).as_str(), test.clone()))
            });
            let calls = calls.into_iter().map(|call| json!({"in": call}));
            (schema, deeper.collect(), calls.chain(optional.then(|| json!({}))).collect())
        } else {
            (union, rows, calls)
        };
        prop_assume!(!calls.is_empty());
        let table = rows.iter().cloned().fold(EffectTable::new(), EffectTable::row);
        let reached: Vec<Option<usize>> = calls.iter().map(|call: &Value| table.first(call)).collect();
        let dead = (0..rows.len()).find(|row| !reached.contains(&Some(*row)));
        match (complete(&table, &schema), dead) {
            (Ok(_), dead) => prop_assert_eq!(dead, None, "{} {:?}", schema, rows),
            // One of its values is a mistake, or no call has its argument at all.
            (Err(problem), None) => prop_assert!(
                problem.contains(" is never ") || problem.contains("is no argument") || problem.contains("normal form"), "{} {}", problem, schema
            ),
            (Err(_), Some(_)) => {}
        }
    }

    /// If there are too many calls to try, no row is refused that one of many sampled calls matches first.
    #[test]
    fn no_row_is_refused_that_a_call_matches_first(
        a in select(vec![
            json!({"type": "string"}),
            json!({"type": "string", "minLength": 2, "maxLength": 4}),
            json!({"type": ["string", "null"], "default": "/x"}),
            json!({"type": "number"}),
            json!({"type": "integer", "minimum": 1}),
            json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
            json!({}),
        ]),
        rows in prop::collection::vec(any_row(), 1..4),
        texts in prop::collection::vec("[/x.y~é]{0,5}", 40),
        numbers in prop::collection::vec((-20..40_i32).prop_map(|n| f64::from(n) / 8.0), 20),
    ) {
        let schema = schema(&a, &json!({"enum": ["x", 1, true]}), [false, false]);
        let table = with_defaults(&rows, &schema);
        let domains = Domains::of(&schema);
        let flaws: HashMap<usize, RowFlaw<'_>> =
            table.flaws(|at| domains.argument(at).domain).into_iter().collect();
        let compiled = Schema::compile(&schema.to_string()).unwrap();
        let values = texts.into_iter().map(Value::from).chain(numbers.into_iter().map(Value::from));
        for value in values.chain(universe()) {
            for b in [None, Some(json!("x")), Some(json!(1)), Some(json!(true))] {
                let mut call = json!({"a": value});
                if let Some(b) = b {
                    call["b"] = b;
                }
                let first = table.first(&call).filter(|_| compiled.check(&call).is_ok());
                let Some(flaw) = first.and_then(|row| flaws.get(&row)) else { continue };
                prop_assert!(matches!(flaw, RowFlaw::Value { .. }), "{call} matches {rows:?}, {flaw:?}");
            }
        }
    }
}

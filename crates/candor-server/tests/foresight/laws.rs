//! What holds of every tool, table and call. Schemas are odd on purpose: with defaults that are no values, and nulls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use candor_hints::{Condition, DeclaredHints, EffectRow, EffectTable, Hints};
use candor_server::protocol::types::{Tool, ToolAnnotations};
use candor_server::testing::TestClient;
use candor_server::tool::{JsonTool, Split};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use crate::common::server;

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

fn any_hints() -> impl Strategy<Value = Hints> {
    any::<[bool; 4]>().prop_map(|[r, d, i, o]| Hints::new(r, d, i, o))
}

fn any_value() -> impl Strategy<Value = Value> {
    select(vec![
        json!("read"),
        json!("add"),
        json!("/x/y"),
        json!("/x/../y"),
        json!("%2e"),
        json!(true),
        json!(false),
        json!(1),
        json!(1.0),
        json!(2),
        Value::Null,
        json!({"deep": 1}),
    ])
}

/// What a schema says of one argument.
fn any_property() -> impl Strategy<Value = Value> {
    let shape = select(vec![
        json!({"type": "string", "enum": ["read", "add"]}),
        json!({"enum": ["read", "add", null]}),
        json!({"enum": ["read", 1, true]}),
        json!({"type": "boolean"}),
        json!({"type": ["boolean", "null"]}),
        json!({"type": ["string", "null"]}),
        json!({"type": "integer"}),
        json!({}),
    ]);
    (shape, prop::option::weighted(0.3, any_value())).prop_map(|(mut shape, default)| {
        if let Some(default) = default {
            shape["default"] = default;
        }
        shape
    })
}

fn any_schema() -> impl Strategy<Value = Value> {
    (any_property(), any_property(), any::<[bool; 3]>()).prop_map(
        |(a, b, [need_a, need_b, open])| {
            let required: Vec<_> = [("a", need_a), ("b", need_b)]
                .iter()
                .filter(|(_, need)| *need)
                .map(|(n, _)| *n)
                .collect();
            json!({
                "type": "object",
                "properties": {"a": a, "b": b},
                "required": required,
                "additionalProperties": open,
            })
        },
    )
}

fn any_test() -> impl Strategy<Value = Condition> {
    prop_oneof![
        4 => prop::collection::vec(any_value(), 1..4).prop_map(Condition::OneOf),
        1 => Just(Condition::Present),
        1 => Just(Condition::Absent),
        1 => Just(Condition::Range(Some(1.0), None)),
        1 => Just(Condition::Below("/x".into())),
        1 => Just(Condition::Glob("/*/y".into())),
    ]
}

fn any_row() -> impl Strategy<Value = EffectRow> {
    let tests = prop::collection::vec((select(vec!["a", "b", "/a/deep"]), any_test()), 0..3);
    (tests, any_hints()).prop_map(|(tests, hints)| {
        let mut row: Option<EffectRow> = None;
        for (at, test) in tests {
            row = Some(match row {
                None => EffectRow::when(at, test),
                Some(row) => row.and(at, test),
            });
        }
        row.map_or(EffectRow::otherwise(hints), |row| row.then(hints))
    })
}

/// Rows that may well be all that there is to say of an argument.
fn covering_rows() -> impl Strategy<Value = Vec<EffectRow>> {
    let one = |value: Value| Condition::OneOf(vec![value]);
    let tests = vec![
        one(json!("read")),
        one(json!("add")),
        one(json!(true)),
        one(json!(false)),
        one(json!(1)),
        one(Value::Null),
        Condition::Present,
        Condition::Absent,
    ];
    let rows = prop::sample::subsequence(tests, 1..=8).prop_shuffle();
    (rows, prop::collection::vec(any_hints(), 8)).prop_map(|(tests, hints)| {
        tests
            .into_iter()
            .zip(hints)
            .map(|(test, hints)| EffectRow::when("a", test).then(hints))
            .collect()
    })
}

/// Rows, and whether they stay in a closed world.
type Rows = (Vec<EffectRow>, bool);

fn any_rows() -> impl Strategy<Value = Rows> {
    let rows = prop_oneof![prop::collection::vec(any_row(), 0..6), covering_rows()];
    (rows, any::<bool>())
}

/// A table whose rows all ask about `a`, and some about `b` too.
fn splitting_rows() -> impl Strategy<Value = Rows> {
    let values = prop::sample::subsequence(vec![json!("read"), json!("add"), json!("x")], 1..=2);
    let row =
        (values, prop::option::of(any_test()), any_hints()).prop_map(|(values, more, hints)| {
            let row = EffectRow::when("a", Condition::OneOf(values)).then(hints);
            more.into_iter().fold(row, |row, test| row.and("b", test))
        });
    (prop::collection::vec(row, 1..4), Just(false))
}

fn any_arguments() -> impl Strategy<Value = Vec<Map<String, Value>>> {
    let one = prop::collection::btree_map(select(vec!["a", "b", "c"]), any_value(), 0..4)
        .prop_map(|members| members.into_iter().map(|(k, v)| (k.to_owned(), v)).collect());
    prop::collection::vec(one, 8)
}

/// The table of these rows, without those that the schema makes a mistake.
fn table((rows, closed): &Rows, schema: &Value) -> EffectTable {
    let mut rows = rows.clone();
    loop {
        let table = rows.iter().cloned().fold(EffectTable::new(), EffectTable::row);
        let table = if *closed { table.closed_world() } else { table };
        let tool = JsonTool::new("t", schema, |_, _| async { Ok("") }).effects(table.clone());
        let Err(error) = server().tool(tool).build() else { return table };
        let error = error.to_string();
        let number =
            error.split("row ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        let number: usize = number.unwrap_or_else(|| panic!("{error}"));
        rows.remove(number - 1);
    }
}

fn counted(schema: &Value, rows: &Rows) -> (JsonTool, Arc<AtomicUsize>) {
    let table = table(rows, schema);
    let runs = Arc::new(AtomicUsize::new(0));
    let ran = runs.clone();
    let tool = JsonTool::new("t", schema, move |_, _| {
        ran.fetch_add(1, Ordering::SeqCst);
        async { Ok("ran") }
    });
    (tool.effects(table), runs)
}

fn client(tool: JsonTool) -> TestClient {
    server().tool(tool).test()
}

fn listed(tool: &Tool) -> Hints {
    let said = tool.annotations.clone().unwrap_or_else(ToolAnnotations::new);
    let declared = DeclaredHints {
        read_only: said.read_only_hint,
        destructive: said.destructive_hint,
        idempotent: said.idempotent_hint,
        open_world: said.open_world_hint,
        effect: None,
    };
    declared.effective().hints
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn no_call_exceeds_its_listed_or_partial_hints(
        schema in any_schema(), rows in any_rows(), calls in any_arguments(),
    ) {
        let client = client(counted(&schema, &rows).0);
        run(async {
            let worst = listed(&client.tool("t").await);
            for call in calls {
                let Ok(hints) = client.try_hints("t", &call).await else { continue };
                prop_assert!(hints.is_at_most(worst), "{call:?} is {hints:?}, listed {worst:?}");
                for left_out in call.keys() {
                    let mut some = call.clone();
                    some.remove(left_out);
                    let bound = client.hints_of_partial("t", &some).await;
                    prop_assert!(hints.is_at_most(bound), "{call:?} is {hints:?}, without {left_out} {bound:?}");
                    prop_assert!(bound.is_at_most(worst), "{some:?} may be {bound:?}, listed {worst:?}");
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn evaluation_succeeds_exactly_when_the_call_runs(
        schema in any_schema(), rows in any_rows(), calls in any_arguments(),
    ) {
        let (tool, runs) = counted(&schema, &rows);
        let client = client(tool);
        run(async {
            for client in [client.speaking(candor_server::protocol::Revision::LATEST_LEGACY), client] {
                for call in &calls {
                    let before = runs.load(Ordering::SeqCst);
                    let asked = client.try_hints("t", call).await;
                    prop_assert_eq!(runs.load(Ordering::SeqCst), before, "evaluation runs nothing");
                    let called = client.call("t", call).await;
                    let ran = runs.load(Ordering::SeqCst) - before;
                    prop_assert_eq!(asked.is_ok(), ran == 1, "{:?}: {:?}", call, asked);
                    prop_assert_eq!(asked.ok(), called.foreseen());
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn split_tool_equals_the_original_with_its_argument(
        b in any_property(), need: bool, rows in splitting_rows(), calls in any_arguments(),
    ) {
        let schema = json!({
            "type": "object",
            "properties": {"a": {"type": "string", "enum": ["read", "add"]}, "b": b},
            "required": if need { json!(["a"]) } else { json!([]) },
        });
        let (tool, _) = counted(&schema, &rows);
        let client = server().tool(tool).split(Split::Beside).test();
        run(async {
            let tools = client.tools().await;
            // Without rows there is nothing to split.
            prop_assert!(matches!(tools.len(), 1 | 3));
            for part in &tools[1..] {
                let exact = part.dynamic_annotations.is_none();
                for call in &calls {
                    let mut part_call = call.clone();
                    part_call.remove("a");
                    let mut whole_call = part_call.clone();
                    whole_call.insert("a".to_owned(), json!(part.name.trim_start_matches("t_")));
                    let of_part = client.try_hints(&part.name, &part_call).await.ok();
                    prop_assert_eq!(of_part, client.try_hints("t", &whole_call).await.ok());
                    let Some(hints) = of_part else { continue };
                    prop_assert!(hints.is_at_most(listed(part)));
                    prop_assert!(!exact || hints == listed(part), "{} {:?} {:?}", part.name, call, hints);
                }
            }
            Ok(())
        })?;
    }
}

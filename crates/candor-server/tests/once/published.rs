//! What clients are told of a tool with keys, before and about a call.

use candor_hints::{Condition, EffectRow, EffectTable, Hints};
use candor_server::Server;
use candor_server::protocol::Revision;
use candor_server::protocol::types::{Tool as Definition, ToolAnnotations};
use candor_server::testing::TestClient;
use candor_server::tool::{Idempotency, JsonTool, Split, ToolError};
use serde_json::{Value, json};

use crate::bench::{KEY, MARK, server};

const WORDS: &str = "Unique key (e.g., UUID) for this operation. Prevents it from being done twice if retried. \
                     Reuse the same key when you retry; take a new one only for a new operation.";

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"amount": {"type": "integer"}},
        "required": ["amount"],
        "additionalProperties": false,
    })
}

fn tool() -> JsonTool {
    let mut adds = ToolAnnotations::new();
    adds.destructive_hint = Some(false);
    adds.read_only_hint = Some(false);
    JsonTool::new("pay", &schema(), |_, _| async { Ok::<_, ToolError>("paid") }).annotations(adds)
}

/// A tool as both eras list it.
async fn listed(server: Server, name: &str) -> Definition {
    let modern = server.test();
    let definition = modern.tool(name).await;
    let legacy = modern.speaking(Revision::LATEST_LEGACY).tool(name).await;
    assert_eq!(definition.input_schema.get(), legacy.input_schema.get());
    definition
}

fn input(definition: &Definition) -> Value {
    serde_json::from_str(definition.input_schema.get()).unwrap()
}

fn key_of(definition: &Definition) -> Value {
    let meta = serde_json::to_value(&definition.meta).unwrap_or_default();
    meta[MARK]["key"].clone()
}

#[tokio::test]
async fn key_argument_is_listed_with_advice_on_reuse() {
    for declared in [Idempotency::Argument, Idempotency::Required] {
        let definition = listed(server().tool(tool().idempotency(declared)), "pay").await;
        let mut expected = schema();
        expected["properties"]["idempotency_key"] =
            json!({"type": "string", "minLength": 1, "maxLength": 255, "description": WORDS});
        if declared == Idempotency::Required {
            expected["required"] = json!(["amount", "idempotency_key"]);
        }
        assert_eq!(input(&definition), expected);
    }
    for tool in [tool(), tool().key_by(|_| "k".to_owned())] {
        assert_eq!(input(&listed(server().tool(tool), "pay").await), schema());
    }
}

#[tokio::test]
async fn own_key_argument_keeps_its_text_and_gets_the_advice() {
    let mut own = schema();
    own["properties"]["idempotency_key"] = json!({"type": "string", "description": "Prevents duplicate invoices if retried.", "format": "uuid"});
    own["required"] = json!(["idempotency_key", "amount"]);
    let tool = JsonTool::new("pay", &own, |_, _| async { Ok::<_, ToolError>("paid") });
    let server = server().tool(tool.idempotency(Idempotency::Required));
    let published = input(&listed(server, "pay").await);
    let mut expected = own.clone();
    expected["properties"]["idempotency_key"]["description"] =
        "Prevents duplicate invoices if retried. \
         Reuse the same key when you retry; take a new one only for a new operation."
            .into();
    assert_eq!(published, expected);
}

#[test]
fn key_argument_of_another_type_is_refused_by_name() {
    for wrong in [json!({"type": "integer"}), json!({"type": ["integer", "null"]}), json!({})] {
        let mut own = schema();
        own["properties"]["idempotency_key"] = wrong;
        let tool = JsonTool::new("pay", &own, |_, _| async { Ok::<_, ToolError>("paid") });
        let tool = tool.idempotency(Idempotency::Argument);
        let store = crate::bench::memory(candor_server::store::LedgerLimits::default());
        let refused = server().ledger(store).tool(tool).build().unwrap_err().to_string();
        assert!(refused.contains("\"pay\"") && refused.contains("`idempotency_key`"), "{refused}");
    }
}

#[tokio::test]
async fn tool_metadata_names_the_key_source() {
    for (tool, word) in [
        (tool(), json!(null)),
        (tool().idempotency(Idempotency::Argument), json!("optional")),
        (tool().idempotency(Idempotency::Required), json!("required")),
        (tool().key_by(|_| "k".to_owned()), json!("derived")),
    ] {
        assert_eq!(key_of(&listed(server().tool(tool), "pay").await), word);
    }
    let described = tool().idempotency(Idempotency::Required).define(|definition| {
        let meta = definition.meta.take().unwrap_or_default();
        definition.meta = Some(meta.with("shop.example/a", &1));
    });
    let meta = listed(server().tool(described), "pay").await.meta.unwrap();
    let meta = serde_json::to_value(&meta).unwrap();
    assert_eq!((&meta["shop.example/a"], &meta[MARK]["key"]), (&json!(1), &json!("required")));
}

#[tokio::test]
async fn only_a_required_or_derived_key_sets_the_idempotent_hint() {
    for (tool, idempotent) in [
        (tool(), None),
        (tool().idempotency(Idempotency::Argument), Some(false)),
        (tool().idempotency(Idempotency::Required), Some(true)),
        (tool().key_by(|_| "k".to_owned()), Some(true)),
    ] {
        let definition = listed(server().tool(tool), "pay").await;
        let annotations = definition.annotations.unwrap();
        assert_eq!(annotations.idempotent_hint, idempotent);
        assert_eq!(annotations.destructive_hint, Some(false), "and nothing else");
    }
    let bare = JsonTool::open("pay", |_, _| async { Ok::<_, ToolError>("paid") });
    let definition = listed(server().tool(bare.idempotency(Idempotency::Required)), "pay").await;
    assert!(definition.annotations.is_none(), "a tool without hints gets none");
}

/// The hints that are foreseen: by our method, by the draft's, and of arguments that are not complete.
async fn idempotent(client: &TestClient, arguments: &Value, key: Option<&str>) -> [bool; 3] {
    let with_key = key.map(|key| client.keyed(key));
    let client = with_key.as_ref().unwrap_or(client);
    let params = json!({"name": "pay", "arguments": arguments});
    let resolved = client.request("tools/resolve", params).await.unwrap();
    [
        client.hints("pay", arguments).await.is_idempotent(),
        resolved["annotations"]["idempotentHint"].as_bool().unwrap(),
        client.hints_of_partial("pay", arguments).await.is_idempotent(),
    ]
}

fn able(client: TestClient) -> TestClient {
    client.capabilities(|can| {
        let known = ("io.modelcontextprotocol/tool-resolution".to_owned(), Default::default());
        can.extensions = Some(std::iter::once(known).collect());
    })
}

#[tokio::test]
async fn optional_key_makes_a_call_idempotent_when_present() {
    let modern = able(server().tool(tool().idempotency(Idempotency::Argument)).test());
    for client in [modern.by("tester"), modern.speaking(Revision::LATEST_LEGACY)] {
        let without = json!({"amount": 5});
        let with = json!({"amount": 5, "idempotency_key": "k"});
        assert_eq!(idempotent(&client, &without, None).await, [false; 3]);
        assert_eq!(idempotent(&client, &with, None).await, [true; 3]);
        assert_eq!(idempotent(&client, &without, Some("k")).await, [true; 3]);
        let null = json!({"amount": 5, "idempotency_key": null});
        assert_eq!(idempotent(&client, &null, None).await, [false; 3]);
        let hints = client.hints("pay", with.clone()).await;
        assert!(!hints.is_read_only() && !hints.is_destructive(), "nothing else changes");
        let partial = client.hints_of_partial("pay", json!({"idempotency_key": "k"})).await;
        assert!(partial.is_idempotent());
        assert!(!client.hints_of_partial("pay", json!({})).await.is_idempotent());
        // The result has the same annotations.
        assert!(!client.call("pay", without).await.foreseen().unwrap().is_idempotent());
        assert!(client.call("pay", with).await.foreseen().unwrap().is_idempotent());
        for bad in [
            json!({"amount": 5, "idempotency_key": ""}),
            json!({"amount": 5, "idempotency_key": 7}),
        ] {
            assert_eq!(client.try_hints("pay", bad).await.unwrap_err().code(), -32602);
        }
        let other = client.keyed("other");
        let two = other.try_hints("pay", json!({"amount": 5, "idempotency_key": "k"})).await;
        assert_eq!(two.unwrap_err().code(), -32602);
    }
    let listed = modern.tool("pay").await;
    assert_eq!(listed.dynamic_annotations, Some(true));
}

#[tokio::test]
async fn required_or_derived_key_makes_every_call_idempotent() {
    for declared in [Idempotency::Required, Idempotency::Derived] {
        let decides = EffectTable::new()
            .row(EffectRow::when("amount", Condition::equals(0)).then(Hints::READS))
            .row(EffectRow::otherwise(Hints::ADDS));
        let tool = tool().effects(decides).key_by(|_| "k".to_owned()).idempotency(declared);
        let client = able(server().tool(tool).test());
        for amount in [0, 5] {
            assert_eq!(idempotent(&client, &json!({"amount": amount}), None).await, [true; 3]);
        }
        assert_eq!(client.tool("pay").await.annotations.unwrap().idempotent_hint, Some(true));
        assert!(client.hints("pay", json!({"amount": 0})).await.is_read_only());
        assert!(!client.hints("pay", json!({"amount": 5})).await.is_read_only());
    }
}

#[tokio::test]
async fn evaluation_does_not_use_up_a_key() {
    let client = able(server().tool(tool().idempotency(Idempotency::Argument)).test()).keyed("k");
    idempotent(&client, &json!({"amount": 5}), None).await;
    let asked = json!({"name": "pay", "arguments": {"amount": 6}, "_meta": {KEY: "k"}});
    client.request("tools/annotations", asked).await.unwrap();
    assert!(crate::bench::rows(client.engine()).await.is_empty());
    assert!(!client.call("pay", json!({"amount": 7})).await.is_replayed());
}

#[tokio::test]
async fn split_tools_have_the_keys_of_the_original() {
    let stock = |declared| {
        let schema = json!({
            "type": "object",
            "properties": {"action": {"type": "string", "enum": ["look", "add"]}},
            "required": ["action"],
        });
        let row =
            |action: &str, hints| EffectRow::when("action", Condition::equals(action)).then(hints);
        JsonTool::new("stock", &schema, |_, _| async { Ok::<_, ToolError>("done") })
            .effects(EffectTable::new().row(row("look", Hints::READS)).row(row("add", Hints::ADDS)))
            .idempotency(declared)
    };
    let optional = server().tool(stock(Idempotency::Argument)).split(Split::Instead).test();
    let required = server().tool(stock(Idempotency::Required)).split(Split::Instead).test();
    for (client, certain) in [(&optional, false), (&required, true)] {
        let (look, add) = (client.tool("stock_look").await, client.tool("stock_add").await);
        let hint = |tool: &Definition| tool.annotations.as_ref().unwrap().idempotent_hint;
        assert_eq!((hint(&look), hint(&add)), (Some(true), Some(certain)));
        for part in [&look, &add] {
            let properties = &input(part)["properties"];
            assert_eq!(properties["idempotency_key"]["description"], WORDS);
            assert_eq!(properties.get("action"), None);
            let required = certain.then(|| json!(["idempotency_key"]));
            assert_eq!(input(part).get("required"), required.as_ref());
        }
        let flagged = (look.dynamic_annotations, add.dynamic_annotations);
        assert_eq!(flagged, (None, (!certain).then_some(true)), "only a key makes a difference");
    }
    assert!(!optional.hints("stock_add", json!({})).await.is_idempotent());
    assert!(optional.hints("stock_add", json!({"idempotency_key": "k"})).await.is_idempotent());
    let called = required.call("stock_add", json!({"idempotency_key": "k"})).await;
    assert_eq!(called.text(), "done");
    assert!(required.keyed("k").call("stock_add", json!({})).await.is_replayed());
    assert!(required.call("stock_look", json!({})).await.is_error(), "the key is required");
}

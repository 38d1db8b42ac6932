//! The list, the question and the call over HTTP: for the same arguments all three say the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use candor_hints::{Condition, EffectRow, EffectTable, Hints};
use candor_server::Server;
use candor_server::protocol::types::ToolAnnotations;
use candor_server::tool::{Idempotency, JsonTool, code};
use serde_json::{Value, json};

use crate::OURS;
use crate::common::{CAPABILITIES_KEY, Call, MODERN, Session, Site, VERSION_KEY, modern, server};

const ASK: &str = "tools/annotations";

/// A tool with arguments of every kind that does nothing but count.
fn print(runs: &Arc<AtomicUsize>) -> JsonTool {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "maxLength": 20, "pattern": "^[^*]*$"},
            "mode": {"enum": ["show", "print", "shred", null], "default": "show"},
            "copies": {"type": "integer", "minimum": 1, "maximum": 100, "default": 1},
            "scale": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5},
            "pages": {
                "type": "array", "items": {"type": "integer"}, "maxItems": 3, "uniqueItems": true,
            },
            "options": {
                "type": "object",
                "properties": {"dry": {"type": "boolean"}},
                "required": ["dry"],
                "additionalProperties": false,
            },
            "until": {"type": "string", "format": "date"},
            "to": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["path"],
        "dependentRequired": {"until": ["to"]},
        "additionalProperties": false,
    });
    let mode = |mode: Value| EffectRow::when("mode", Condition::equals(mode));
    let table = EffectTable::new()
        .row(EffectRow::when("/options/dry", Condition::equals(true)).then(Hints::READS))
        .row(mode(json!("show")).then(Hints::READS))
        .row(mode(json!("print")).and("path", Condition::Below("/tmp".into())).then(Hints::ADDS))
        .row(
            mode(json!("shred"))
                .and("copies", Condition::Range(Some(2.0), None))
                .then(Hints::DELETES),
        )
        .closed_world();
    let runs = runs.clone();
    JsonTool::new("print", &schema, move |_, _| {
        runs.fetch_add(1, Ordering::SeqCst);
        async { Ok("done") }
    })
    .effects(table)
}

/// Tools that can be called without harm: with a table, with a function, with hints that are always the same, and with keys.
fn harmless(runs: &Arc<AtomicUsize>) -> Server {
    let counting = |name: &str| {
        let runs = runs.clone();
        JsonTool::open(name, move |_, _| {
            runs.fetch_add(1, Ordering::SeqCst);
            async { Ok("done") }
        })
    };
    let moody = counting("moody").effects_by(Hints::ADDS, |args| match args["mood"].as_str() {
        Some("calm") => Hints::READS,
        Some("busy") => Hints::ADDS.idempotent(),
        _ => Hints::ADDS,
    });
    let mut partly = ToolAnnotations::new();
    partly.destructive_hint = Some(false);
    let ledger = candor_server::store::open("memory:", Default::default()).unwrap();
    server()
        .ledger(ledger)
        .tool(print(runs))
        .tool(moody)
        .tool(counting("plain").annotations(partly.clone()))
        .tool(counting("pay").annotations(partly).idempotency(Idempotency::Argument))
        .tool(counting("keyed").idempotency(Idempotency::Required))
}

/// Arguments, as text, and whether they fit.
const CALLS: &[(&str, &str, bool)] = &[
    // What the schema asks for, and what it leaves open.
    ("print", r#"{"path":"a"}"#, true),
    ("print", r#"{}"#, false),
    ("print", r#"{"path":""}"#, false),
    ("print", r#"{"path":null}"#, false),
    ("print", r#"{"path":7}"#, false),
    ("print", r#"{"path":["a"]}"#, false),
    ("print", r#"{"Path":"a"}"#, false),
    ("print", r#"{"path":"a","more":1}"#, false),
    ("print", r#"{"path":"a","":1}"#, false),
    // Text is counted in characters.
    ("print", r#"{"path":"\u00e9ééééééééééééééééééé"}"#, true),
    ("print", r#"{"path":"aaaaaaaaaaaaaaaaaaaaa"}"#, false),
    ("print", r#"{"path":"*.txt"}"#, false),
    // One of a few.
    ("print", r#"{"path":"a","mode":"show"}"#, true),
    ("print", r#"{"path":"a","mode":"print"}"#, true),
    ("print", r#"{"path":"/tmp/a","mode":"print"}"#, true),
    ("print", r#"{"path":"/tmp/../a","mode":"print"}"#, true),
    ("print", r#"{"path":"a","mode":"shred"}"#, true),
    ("print", r#"{"path":"a","mode":"shred","copies":2}"#, true),
    ("print", r#"{"path":"a","mode":null}"#, true),
    ("print", r#"{"path":"a","mode":"Show"}"#, false),
    ("print", r#"{"path":"a","mode":"show "}"#, false),
    ("print", r#"{"path":"a","mode":true}"#, false),
    // Numbers, in every spelling.
    ("print", r#"{"path":"a","copies":1}"#, true),
    ("print", r#"{"path":"a","copies":1.0}"#, true),
    ("print", r#"{"path":"a","copies":1e2}"#, true),
    ("print", r#"{"path":"a","copies":1.5}"#, false),
    ("print", r#"{"path":"a","copies":0}"#, false),
    ("print", r#"{"path":"a","copies":-0.0}"#, false),
    ("print", r#"{"path":"a","copies":101}"#, false),
    ("print", r#"{"path":"a","copies":"1"}"#, false),
    ("print", r#"{"path":"a","copies":18446744073709551616}"#, false),
    ("print", r#"{"path":"a","scale":0.5}"#, true),
    ("print", r#"{"path":"a","scale":0}"#, false),
    ("print", r#"{"path":"a","scale":0.75}"#, false),
    // Lists and objects.
    ("print", r#"{"path":"a","pages":[]}"#, true),
    ("print", r#"{"path":"a","pages":[1,2,3]}"#, true),
    ("print", r#"{"path":"a","pages":[1,2,3,4]}"#, false),
    ("print", r#"{"path":"a","pages":[1,1.0]}"#, false),
    ("print", r#"{"path":"a","pages":["1"]}"#, false),
    ("print", r#"{"path":"a","pages":1}"#, false),
    ("print", r#"{"path":"a","mode":"shred","options":{"dry":true}}"#, true),
    ("print", r#"{"path":"a","mode":"shred","options":{"dry":false}}"#, true),
    ("print", r#"{"path":"a","options":{}}"#, false),
    ("print", r#"{"path":"a","options":{"dry":"true"}}"#, false),
    ("print", r#"{"path":"a","options":{"dry":true,"wet":1}}"#, false),
    ("print", r#"{"path":"a","options":null}"#, false),
    // What depends on something else.
    ("print", r#"{"path":"a","to":null}"#, true),
    ("print", r#"{"path":"a","to":7}"#, false),
    ("print", r#"{"path":"a","until":"2026-07-28","to":"Ada"}"#, true),
    ("print", r#"{"path":"a","until":"2026-07-28"}"#, false),
    ("print", r#"{"path":"a","until":"28.7.2026","to":"Ada"}"#, false),
    // What is no set of arguments at all.
    ("print", r#"null"#, false),
    ("print", r#"[{"path":"a"}]"#, false),
    ("print", r#""path""#, false),
    ("print", r#"7"#, false),
    // Where nothing is asked for.
    ("moody", r#"{}"#, true),
    ("moody", r#"{"mood":"calm"}"#, true),
    ("moody", r#"{"mood":"busy"}"#, true),
    ("moody", r#"{"mood":["calm"]}"#, true),
    ("moody", r#"[]"#, false),
    ("plain", r#"{}"#, true),
    ("plain", r#"{"any":{"thing":[null]}}"#, true),
    ("plain", r#"true"#, false),
    // With a key among the arguments, which may be missing or must not.
    ("pay", r#"{}"#, true),
    ("pay", r#"{"idempotency_key":null}"#, true),
    ("pay", r#"{"idempotency_key":"k"}"#, true),
    ("pay", r#"{"idempotency_key":"two words"}"#, false),
    ("keyed", r#"{"idempotency_key":"k"}"#, true),
    ("keyed", r#"{"idempotency_key":"two words"}"#, false),
    ("keyed", r#"{"idempotency_key":7}"#, false),
    ("keyed", r#"{"idempotency_key":""}"#, false),
    ("nothing", r#"{}"#, false),
];

/// Who asks and calls over HTTP, in one of the eras.
struct Caller<'a> {
    site: &'a Site,
    session: Option<Session<'a>>,
}

impl<'a> Caller<'a> {
    async fn of(site: &'a Site, is_legacy: bool) -> Self {
        let session = if is_legacy { Some(Session::open(site, "2025-11-25").await) } else { None };
        Self { site, session }
    }

    /// The answer to a request whose arguments are sent as they are written.
    async fn send(&self, method: &str, tool: &str, arguments: &str) -> Value {
        let meta = match self.session {
            Some(_) => json!({}),
            None => json!({VERSION_KEY: MODERN, CAPABILITIES_KEY: {}}),
        };
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"name":"{tool}","arguments":{arguments},"_meta":{meta}}}}}"#
        );
        let call = match &self.session {
            Some(session) => session.within(Call::post(&message)),
            None => modern(method, &json!({"name": tool})).body(&message),
        };
        self.site.send(call).await.json().await
    }
}

#[tokio::test]
async fn tools_annotations_accepts_exactly_the_callable_arguments() {
    for is_legacy in [false, true] {
        let runs = Arc::new(AtomicUsize::new(0));
        let site = Site::of(harmless(&runs));
        let caller = Caller::of(&site, is_legacy).await;
        for (tool, arguments, fits) in CALLS {
            let asked = caller.send(ASK, tool, arguments).await;
            if *fits {
                assert!(asked["result"]["annotations"].is_object(), "{arguments}: {asked}");
            } else {
                assert_eq!(asked["error"]["code"], -32602, "{tool} {arguments}: {asked}");
            }
            assert_eq!(runs.swap(0, Ordering::SeqCst), 0, "evaluation runs nothing");

            let made = caller.send("tools/call", tool, arguments).await;
            let is_refused = made.get("error").is_some() || made["result"]["isError"] == true;
            let ran = runs.swap(0, Ordering::SeqCst);
            assert_eq!(
                (!is_refused, ran),
                (*fits, usize::from(*fits)),
                "{tool} {arguments}: {made}"
            );
            if *fits && ["print", "moody"].contains(tool) {
                let foreseen = &made["result"]["_meta"][OURS]["annotations"];
                assert_eq!(foreseen, &asked["result"]["annotations"], "{arguments}: {made}");
            }
        }
        // A key may be sent beside the arguments, and an evaluation needs none.
        let asked = caller.send(ASK, "keyed", "{}").await;
        assert!(asked["result"]["annotations"].is_object(), "{asked}");
        let made = caller.send("tools/call", "keyed", "{}").await;
        let code = &made["result"]["_meta"]["dev.candor/error"]["code"];
        assert_eq!((code, runs.load(Ordering::SeqCst)), (&json!(code::KEY_REQUIRED), 0), "{made}");
    }
}

/// What is to be feared: that it writes, deletes, does so again when it is repeated, and reaches outside.
fn risks(annotations: &Value) -> [bool; 4] {
    let hint = |name: &str, otherwise| annotations[name].as_bool().unwrap_or(otherwise);
    [
        !hint("readOnlyHint", false),
        hint("destructiveHint", true),
        !hint("idempotentHint", false),
        hint("openWorldHint", true),
    ]
}

#[tokio::test]
async fn listed_hints_are_the_worst_case_of_the_calls() {
    for is_legacy in [false, true] {
        let site = Site::of(harmless(&Arc::default()));
        let caller = Caller::of(&site, is_legacy).await;
        let listed = match &caller.session {
            Some(session) => session.request("tools/list", &json!({})).await,
            None => site.send(modern("tools/list", &json!({}))).await,
        };
        let listed = listed.result().await;
        for tool in listed["tools"].as_array().unwrap() {
            let (name, worst) = (tool["name"].as_str().unwrap(), risks(&tool["annotations"]));
            let mut seen = [false; 4];
            for (_, arguments, _) in CALLS.iter().filter(|(of, _, fits)| *of == name && *fits) {
                let asked = caller.send(ASK, name, arguments).await;
                let call = risks(&asked["result"]["annotations"]);
                for (at, (call, worst)) in call.into_iter().zip(worst).enumerate() {
                    assert!(call <= worst, "{name} {arguments}: {asked}, listed {tool}");
                    seen[at] |= call;
                }
            }
            if tool["dynamicAnnotations"] == true {
                assert_eq!(seen, worst, "the listed worst case occurs: {tool}");
            }
        }
    }
}

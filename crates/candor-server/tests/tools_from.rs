//! Every shape in which tools can be provided: used or called as it is, on every request, and one source for all who ask.

#![allow(missing_docs)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use candor_server::hints::Hints;
use candor_server::protocol::Principal;
use candor_server::protocol::types::Tool as Definition;
use candor_server::testing::TestClient;
use candor_server::tool::{
    Invalid, JsonTool, Prepared, ProviderError, Safeguards, Tool, ToolError, ToolSet,
    ToolsProvider, provider_fn,
};
use candor_server::{Arguments, BoxFuture, BuildError, Call, Caller, RunningServer, Server};
use serde_json::{Value, json};

fn tool(name: &str) -> Arc<dyn Tool> {
    Arc::new(JsonTool::open(name, |_, _| async { Ok::<_, ToolError>("done") }))
}

fn server() -> Server {
    Server::new("s", "1")
}

/// What MCP lists and what the catalogue has, which must be the same.
async fn names(engine: &RunningServer) -> Result<Vec<String>, String> {
    let view = engine.open(Caller::new(Principal::anonymous()));
    let client = TestClient::of(engine);
    match (view.published_tools(engine.listing()).await, client.request("tools/list", ()).await) {
        (Ok(published), Ok(listed)) => {
            let listed = listed["tools"].as_array().unwrap().iter();
            let listed: Vec<_> =
                listed.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
            let ours: Vec<String> = published.iter().map(|tool| tool.name.clone()).collect();
            assert_eq!(ours, listed);
            Ok(ours)
        }
        (Err(_), Err(error)) => {
            assert_eq!(error.code(), -32603);
            let reason = client.internal_reasons().remove(0);
            let problem = reason.rsplit(": ").next().unwrap().to_owned();
            assert!(!error.message.contains(&problem), "{} says {problem}", error.message);
            Err(problem)
        }
        (published, listed) => panic!("{:?} is not {listed:?}", published.is_ok()),
    }
}

/// Returns the tool set of a caller.
async fn set(engine: &RunningServer, principal: Principal) -> Arc<ToolSet> {
    engine.open(Caller::new(principal)).tools().await.unwrap().clone()
}

#[tokio::test]
async fn fixed_list_of_tools_is_built_once() {
    let engine = server().tools_from(vec![tool("b"), tool("a")]).build().unwrap();
    assert_eq!(names(&engine).await.unwrap(), ["b", "a"]);
    let one = set(&engine, Principal::anonymous()).await;
    let other = set(&engine, Principal::new("alice")).await;
    assert!(Arc::ptr_eq(&one, &other), "the set is not rebuilt");
    let none = server().tools_from(Vec::<Arc<dyn Tool>>::new()).build().unwrap();
    assert_eq!(names(&none).await.unwrap(), Vec::<String>::new(), "a list without tools is one");
    let twice = server().tools_from(vec![tool("a"), tool("a")]).build();
    assert!(matches!(twice, Err(BuildError::Tool(_))), "refused at build time");
}

#[tokio::test]
async fn closure_is_called_on_every_request() {
    let calls = Arc::new(AtomicUsize::new(0));
    let (counted, awaited) = (calls.clone(), calls.clone());
    let count = |calls: &AtomicUsize| format!("t{}", calls.fetch_add(1, Ordering::SeqCst));
    let sync = server().tools_from(move || vec![tool(&count(&counted))]).build().unwrap();
    let later = move || {
        let calls = awaited.clone();
        async move {
            tokio::task::yield_now().await;
            Ok::<_, std::io::Error>(vec![tool(&format!(
                "t{}",
                calls.fetch_add(1, Ordering::SeqCst)
            ))])
        }
    };
    let asynchronous = server().tools_from(later).build().unwrap();
    for engine in [sync, asynchronous] {
        calls.store(0, Ordering::SeqCst);
        for asked in 0..3 {
            let set = set(&engine, Principal::anonymous()).await;
            assert_eq!(set.definitions().next().unwrap().name, format!("t{asked}"));
        }
        assert_eq!(calls.load(Ordering::SeqCst), 3);
    }
}

#[tokio::test]
async fn every_kind_of_tool_source_is_accepted() {
    async fn function() -> Vec<Arc<dyn Tool>> {
        vec![tool("a")]
    }
    let fails = || Err::<Vec<Arc<dyn Tool>>, _>("secret");
    let set = Arc::new(ToolSet::new([tool("a")]).unwrap());
    for (server, provided) in [
        (server().tools_from(|| vec![tool("a")]), Ok("a")),
        (server().tools_from(|| Ok::<_, String>(vec![tool("a")])), Ok("a")),
        (server().tools_from(fails), Err("secret")),
        (server().tools_from(async || vec![tool("a")]), Ok("a")),
        (server().tools_from(|| async { Ok::<_, String>(vec![tool("a")]) }), Ok("a")),
        (server().tools_from(function), Ok("a")),
        (server().tools_from(move || async move { fails() }), Err("secret")),
        (server().tools_from(provider_fn(move |_| Ok(set.clone()))), Ok("a")),
        (server().tools_from(Own), Ok("own")),
    ] {
        let engine = server.build().unwrap();
        let names = names(&engine).await;
        let expected = provided.map(|name| vec![name.to_owned()]).map_err(str::to_owned);
        assert_eq!(names, expected);
    }
}

struct Own;

impl ToolsProvider for Own {
    fn provide<'a>(
        &'a self,
        _: &'a Principal,
    ) -> BoxFuture<'a, Result<Arc<ToolSet>, ProviderError>> {
        let set = ToolSet::new([tool("own")]).map(Arc::new).map_err(ProviderError::new);
        Box::pin(std::future::ready(set))
    }
}

#[tokio::test]
async fn second_tool_source_is_refused() {
    let both = server().tools_from(vec![tool("a")]).tools_from(|| vec![tool("b")]).build();
    assert!(matches!(both, Err(BuildError::TwoSources("tools"))));
}

/// A tool that takes an object with this member.
fn taking(member: &str, kind: &Value) -> Arc<dyn Tool> {
    let schema = json!({"type": "object", "properties": {member: kind}, "required": [member]});
    Arc::new(
        JsonTool::new("t", &schema, |_, _| async { Ok::<_, ToolError>("done") }).unclassified(),
    )
}

#[tokio::test]
async fn changed_schema_applies_from_the_next_request() {
    let renamed = Arc::new(AtomicBool::new(false));
    let now = renamed.clone();
    let provide = move || {
        let member = if now.load(Ordering::SeqCst) { "place" } else { "city" };
        vec![taking(member, &json!({"type": "string"}))]
    };
    for client in
        [server().tools_from(provide.clone()).test(), server().tools_from(provide).test_legacy()]
    {
        for (changed, member, other) in [(false, "city", "place"), (true, "place", "city")] {
            renamed.store(changed, Ordering::SeqCst);
            let schema = client.tool("t").await.input_schema;
            assert!(schema.get().contains(member) && !schema.get().contains(other), "{schema}");
            assert_eq!(client.call("t", json!({member: "Bern"})).await.text(), "done");
            let refused = client.call("t", json!({other: "Bern"})).await;
            assert!(refused.is_error() && refused.text().contains(&format!("/{member}")));
        }
    }
}

#[tokio::test]
async fn broken_provided_tool_does_not_affect_the_others() {
    // No arguments are valid under a broken schema. This is not an error of the server.
    let broken = || taking("a", &json!({"$ref": "http://127.0.0.1:9/a"}));
    let provide = move || vec![tool("before"), broken(), tool("after")];
    let why = "Invalid schema: input schema: ";
    for client in [server().tools_from(provide).test(), server().tools_from(provide).test_legacy()]
    {
        let names: Vec<_> = client.tools().await.into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["before", "t", "after"]);
        assert_eq!(
            client.tool("t").await.input_schema.get(),
            r#"{"type":"object","additionalProperties":true}"#,
            "a broken schema is not listed"
        );
        for name in ["before", "after"] {
            assert_eq!(client.call(name, json!({})).await.text(), "done");
        }
        for arguments in [json!({}), json!({"a": 1})] {
            let refused = client.call("t", arguments).await;
            assert_eq!(refused.code(), Some("invalid_arguments"));
            assert!(refused.text().contains(why), "{}", refused.text());
        }
    }
    let engine = server().tools_from(provide).build().unwrap();
    let view = engine.open(Caller::new(Principal::anonymous()));
    let call = Call::new("t", Arguments::from(json!({"a": 1})));
    let foreseen = view.decide(&call).await.unwrap();
    let [problem] = &foreseen.problems[..] else { panic!("{:?}", foreseen.problems) };
    assert!(problem.pointer.is_empty() && problem.problem.starts_with(why), "{problem:?}");
    assert!(!foreseen.exact && foreseen.effect.hints.is_destructive(), "the worst case is assumed");
    // A fixed list with a broken tool does not build.
    let error = server().tools_from(vec![broken()]).build().err().unwrap().to_string();
    assert!(error.starts_with("tool \"t\": input schema: "), "{error}");
}

fn erased(tools: Vec<JsonTool>) -> Vec<Arc<dyn Tool>> {
    tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect()
}

/// What provided tools are listed, and what each answers to a call: `done`, or why not.
async fn answers(
    tools: impl Fn() -> Vec<Arc<dyn Tool>> + Send + Sync + 'static,
) -> Vec<(String, String)> {
    let client = server().tools_from(tools).test();
    let mut all = Vec::new();
    for listed in client.tools().await {
        let said = client.call(&listed.name, json!({"a": "x"})).await;
        assert!(
            said.text() == "done" || said.code() == Some("invalid_arguments"),
            "{}",
            said.text()
        );
        let said = said.text();
        let why = said.split_once("this tool cannot be called: ").map_or(said, |(_, why)| why);
        all.push((listed.name, why.lines().next().unwrap().to_owned()));
    }
    all
}

fn acts(name: &str) -> JsonTool {
    JsonTool::open(name, |_, _| async { Ok::<_, ToolError>("done") })
}

fn looks(name: &str) -> JsonTool {
    acts(name).hints(Hints::READS)
}

/// Its schema cannot be compiled.
fn unreadable(name: &str) -> JsonTool {
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/nothing"}}});
    JsonTool::new(name, &schema, |_, _| async { Ok::<_, ToolError>("done") }).hints(Hints::READS)
}

#[track_caller]
fn said(answers: &[(String, String)], expected: &[(&str, &str)]) {
    let names: Vec<_> = answers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, expected.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "{answers:?}");
    for ((name, said), (_, part)) in answers.iter().zip(expected) {
        assert!(said.contains(part), "{name}: {part:?} in {said:?}");
    }
}

#[tokio::test]
async fn tool_with_a_broken_preview_or_undo_cannot_be_called() {
    let tools = || {
        erased(vec![
            acts("other"),
            // A chain of previews whose last one is broken, in the worst order to find it.
            acts("first").previewed_by("second"),
            looks("second").previewed_by("third"),
            unreadable("third"),
            acts("trash").undo("restore"),
            unreadable("restore"),
            acts("delete").instead("restore"),
            looks("last"),
        ])
    };
    said(
        &answers(tools).await,
        &[
            ("other", "done"),
            ("first", r#"its preview tool "second" cannot be called"#),
            ("second", r#"its preview tool "third" cannot be called"#),
            ("third", "input schema: "),
            ("trash", r#"its undo tool "restore" cannot be called"#),
            ("restore", "input schema: "),
            ("delete", "done"),
            ("last", "done"),
        ],
    );
}

#[tokio::test]
async fn tool_with_an_invalid_reference_cannot_be_called() {
    let tools = || {
        erased(vec![
            acts("undone").undo("nobody"),
            acts("better").instead("nobody"),
            acts("seen").previewed_by("nobody"),
            acts("shown").previewed_by("other"),
            acts("one").previewed_by("look"),
            acts("two").previewed_by("look"),
            looks("look"),
            acts("other"),
        ])
    };
    said(
        &answers(tools).await,
        &[
            ("undone", r#"its undo tool "nobody" is not among the tools"#),
            ("better", r#"its instead tool "nobody" is not among the tools"#),
            ("seen", r#"its preview tool "nobody" is not among the tools"#),
            ("shown", r#"its preview tool "other" is not read-only"#),
            ("one", "done"),
            ("two", r#"its preview tool "look" is already the preview of "one""#),
            ("look", "done"),
            ("other", "done"),
        ],
    );
}

#[tokio::test]
async fn duplicate_name_is_listed_once_and_cannot_be_called() {
    let made = |name| acts(name).preview(|_, _| async { Ok::<_, ToolError>("shown") });
    let tools = move || {
        erased(vec![
            acts("before"),
            made("twice"),
            acts("between"),
            made("twice"),
            acts("twice"),
            acts("relies").undo("twice"),
            // A generated preview has the name of another tool.
            looks("preview_act"),
            made("act"),
            // The first problem is reported.
            unreadable("both"),
            acts("both"),
            looks("after"),
        ])
    };
    said(
        &answers(tools).await,
        &[
            ("before", "done"),
            ("twice", "another tool has this name"),
            ("between", "done"),
            ("relies", r#"its undo tool "twice" cannot be called"#),
            ("preview_act", "another tool has this name"),
            ("act", r#"another tool has the name of its preview, "preview_act""#),
            ("both", "input schema: "),
            ("after", "done"),
        ],
    );
}

#[tokio::test]
async fn problem_of_a_preview_is_reported_for_its_tool() {
    let tools = || {
        let plan = Arc::new(looks("plan").undo("nobody"));
        let act = Guarded(acts("act"), Safeguards::default().preview(plan));
        vec![Arc::new(act) as Arc<dyn Tool>, Arc::new(acts("other"))]
    };
    said(
        &answers(tools).await,
        &[("act", r#"its undo tool "nobody" is not among the tools"#), ("other", "done")],
    );
}

/// A tool with safeguards of its own.
struct Guarded(JsonTool, Safeguards);

impl Tool for Guarded {
    fn definition(&self) -> &Definition {
        self.0.definition()
    }

    fn prepare(&self, arguments: Arguments) -> Result<Box<dyn Prepared>, Invalid> {
        self.0.prepare(arguments)
    }

    fn safeguards(&self) -> Safeguards {
        self.1.clone()
    }
}

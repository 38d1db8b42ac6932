//! The client for tests, tested: what it gives in both eras, and how it fails.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use candor_server::prompt::{self, Prompt};
use candor_server::protocol::types::{LogLevel, Resource, ResourceContents, ResourceTemplate};
use candor_server::protocol::{Principal, Revision};
use candor_server::resource::ResourceSet;
use candor_server::testing::TestClient;
use candor_server::tool::{
    IntoOutput, JsonTool, Output, Provider, ToolError, ToolSet, provider_fn,
};
use candor_server::{Arguments, Ctx, Elicit, ElicitAnswer, Sample, Server};
use futures_util::FutureExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// A client of each era.
fn both(server: impl Fn() -> Server) -> [TestClient; 2] {
    [server().test(), server().test_legacy()]
}

fn server() -> Server {
    Server::new("tested", "1.0.0")
}

fn tool<F, R, O>(name: &str, handler: F) -> JsonTool
where
    F: Fn(Arguments, Ctx) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, ToolError>> + Send + 'static,
    O: IntoOutput,
{
    JsonTool::new(name, &json!({"type": "object"}), handler)
}

fn greet() -> JsonTool {
    let schema =
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    JsonTool::new("greet", &schema, |args, _| async move {
        Ok(format!("Hello, {}!", args["name"].as_str().unwrap()))
    })
}

fn whoami() -> JsonTool {
    tool("whoami", |_, ctx| async move { Ok(ctx.principal().to_string()) })
}

fn form() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
}

async fn name_of(ctx: &Ctx, message: &str) -> Result<String, ToolError> {
    let answer = ctx.elicit(Elicit::form(message, &form())).await?;
    Ok(match answer.accepted() {
        Some(answer) => answer["name"].as_str().unwrap().to_owned(),
        None => format!("nobody ({})", answer.action()),
    })
}

/// A tool that asks twice, the second time with the first answer.
fn introduce() -> JsonTool {
    tool("introduce", |_, ctx| async move {
        let first = name_of(&ctx, "First name?").await?;
        let last = name_of(&ctx, &format!("Last name, {first}?")).await?;
        Ok(format!("{first} {last}"))
    })
}

/// What a test would be told that fails here.
async fn failure<T>(asking: impl Future<Output = T>) -> String {
    let panic = AssertUnwindSafe(asking).catch_unwind().await.err().expect("a panic");
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).expect("a text")
}

#[tokio::test]
async fn call_returns_text_and_structured_content() {
    let weather = || {
        tool("weather", |_, _| async { Ok(Output::structured(json!({"celsius": 21}))) })
            .output_schema(&json!({"type": "object"}))
    };
    for client in both(|| server().tool(greet()).tool(weather())) {
        let called = client.call("greet", json!({"name": "Ada"})).await;
        assert_eq!(called.text(), "Hello, Ada!");
        assert!(!called.is_error());
        assert_eq!(called.content().len(), 1);
        assert_eq!(called.structured(), None);
        assert_eq!(called.raw()["content"][0]["type"], "text");

        let called = client.call("weather", ()).await;
        assert_eq!(called.structured(), Some(&json!({"celsius": 21})));
    }
    #[derive(serde::Serialize)]
    struct Person {
        name: &'static str,
    }
    let called = server().tool(greet()).test().call("greet", Person { name: "Ada" }).await;
    assert_eq!(called.text(), "Hello, Ada!");
    assert_eq!(called.raw()["resultType"], "complete");
}

#[tokio::test]
async fn tool_failure_is_returned_as_a_result() {
    let fails = || tool("fails", |_, _| async { Err::<&str, _>(ToolError::new("No milk.")) });
    for client in both(|| server().tool(fails()).tool(greet())) {
        let called = client.call("fails", json!({})).await;
        assert!(called.is_error());
        assert!(called.text().contains("No milk."), "{called:?}");

        let called = client.call("greet", json!({"name": 7})).await;
        assert!(called.is_error());
        assert!(called.text().contains("/name"), "{called:?}");
    }
}

#[tokio::test]
async fn protocol_error_fails_the_test_unless_the_call_is_a_try() {
    for client in both(|| server().tool(greet()).tool(whoami())) {
        let error = client.try_call("gret", json!({"name": "Ada"})).await.unwrap_err();
        assert_eq!((error.code(), &*error.message), (-32602, "Unknown tool: gret"));

        let told = failure(client.call("gret", json!({"name": "Ada"}))).await;
        assert!(
            told.starts_with(r#"there is no tool "gret"; there are: "greet", "whoami""#),
            "{told}"
        );
        assert!(told.contains("Unknown tool: gret (code -32602"), "{told}");
        assert!(told.contains("\n  asked at ") && told.contains("testing.rs:"), "{told}");
    }
}

#[tokio::test]
async fn arguments_other_than_an_object_fail_the_test() {
    let client = server().tool(greet()).test();
    let told = failure(async { client.call("greet", json!(["Ada"])).await }).await;
    assert!(
        told.starts_with(r#"tools/call of "greet": the arguments are an object, such as json!("#),
        "{told}"
    );
    assert!(told.contains(r#"not ["Ada"]"#), "{told}");
    let told = failure(async { client.request("tools/list", 3).await }).await;
    assert!(told.starts_with("the parameters of tools/list are an object, not 3"), "{told}");
}

#[tokio::test]
async fn list_contains_all_pages() {
    let many = || {
        (0..1001).fold(server(), |server, n| {
            server.tool(tool(&format!("t{n}"), |_, _| async { Ok("") }))
        })
    };
    for client in both(many) {
        let tools = client.tools().await;
        let names: Vec<_> = tools.iter().map(|tool| tool.name.clone()).collect();
        let expected: Vec<_> = (0..1001).map(|n| format!("t{n}")).collect();
        assert_eq!(names, expected);
        assert_eq!(client.tool("t1000").await.name, "t1000");
        let told = failure(client.tool("t1001")).await;
        assert!(told.starts_with(r#"there is no tool "t1001"; there are: "t0", "t1""#), "{told}");
        assert!(told.contains("and 951 more"), "{told}");
    }
    let told = failure(server().test().tools()).await;
    assert!(
        told.starts_with("tools/list: the server answered with an error: Method not found"),
        "{told}"
    );
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    let memos = || {
        let read = |uri: String, text: String| ResourceContents::of_text(uri, "text/plain", text);
        ResourceSet::new()
            .resource(Resource::new("memo:///today", "today"), move |uri, _| async move {
                Ok(vec![read(uri, "Buy milk".to_owned())])
            })
            .template(
                ResourceTemplate::new("memo:///of/{day}", "of"),
                move |uri, day, _| async move { Ok(vec![read(uri, format!("{day:?}"))]) },
            )
            .unwrap()
    };
    for client in both(|| server().resources(memos())) {
        let contents = client.read("memo:///today").await;
        assert_eq!(contents[0].text.as_deref(), Some("Buy milk"));
        assert_eq!(client.resources().await[0].uri, "memo:///today");
        assert_eq!(client.templates().await[0].uri_template, "memo:///of/{day}");
        assert_eq!(client.read("memo:///of/monday").await[0].uri, "memo:///of/monday");

        let error = client.try_read("memo:///never").await.unwrap_err();
        assert_eq!(error.message, "Resource not found");
        let told = failure(client.read("memo:///never")).await;
        assert!(
            told.starts_with(
                r#"there is no resource "memo:///never"; there are: "memo:///today", "memo:///of/{day}""#
            ),
            "{told}"
        );
    }
}

#[tokio::test]
async fn prompts_are_listed_and_filled_in() {
    let review = || {
        Prompt::new("review", |args, _| async move {
            Ok(prompt::user(format!("Please review {}.", args["file"])))
        })
        .argument("file", "What to review", true)
    };
    for client in both(|| server().prompt(review())) {
        let filled = client.prompt("review", json!({"file": "a.rs"})).await;
        assert_eq!(filled.messages[0].content.as_text(), Some("Please review a.rs."));
        assert_eq!(client.prompts().await[0].name, "review");

        let error = client.try_prompt("review", ()).await.unwrap_err();
        assert!(error.message.contains(r#"needs the argument "file""#), "{}", error.message);
        let told = failure(client.prompt("review", ())).await;
        assert!(told.starts_with(r#"prompts/get of "review": the server answered"#), "{told}");
        let told = failure(client.prompt("revue", ())).await;
        assert!(told.starts_with(r#"there is no prompt "revue"; there are: "review""#), "{told}");
    }
}

#[tokio::test]
async fn notifications_before_the_result_are_kept() {
    let talks = || {
        tool("talks", |_, ctx| async move {
            // More than a queue holds: the tool would block if the client did not read.
            for n in 1..=100 {
                ctx.progress(n, 100, "on the way").await;
            }
            ctx.log(LogLevel::Debug, "nearly").await;
            Ok("done")
        })
    };
    for client in both(|| server().tool(talks()).tool(whoami())) {
        let (talked, silent) =
            tokio::join!(client.call("talks", json!({})), client.call("whoami", json!({})));
        let progress = talked.progress();
        assert_eq!(progress.len(), 100);
        assert_eq!(progress[99]["progress"], 100);
        assert_eq!(progress[99]["message"], "on the way");
        assert_eq!(talked.log()[0]["data"], "nearly");
        assert_eq!(talked.notices().last().unwrap().method, "notifications/message");
        assert!(silent.notices().is_empty());

        assert_eq!(client.notices().len(), 101);
        assert!(client.notices().is_empty());
    }
}

#[tokio::test]
async fn on_elicit_answers_questions_in_both_eras() {
    for client in both(|| server().tool(introduce())) {
        let mut asked_so_far = Vec::new();
        let client = client.on_elicit(move |asked| {
            assert_eq!(asked.schema, Some(form()));
            asked_so_far.push(asked.message.clone());
            match asked_so_far.len() {
                1 => json!({"name": "Ada"}),
                _ => json!({"name": asked_so_far.join(" ")}),
            }
        });
        let called = client.call("introduce", json!({})).await;
        assert_eq!(called.text(), "Ada First name? Last name, Ada?");

        let client = client.on_elicit(|_| ElicitAnswer::Declined);
        let called = client.call("introduce", json!({})).await;
        assert_eq!(called.text(), "nobody (decline) nobody (decline)");
    }
}

#[tokio::test]
async fn on_sample_and_roots_answer_in_both_eras() {
    let muse = || {
        tool("muse", |_, ctx| async move {
            let (said, roots) = tokio::join!(ctx.sample(Sample::new("Well?", 10)), ctx.roots());
            Ok(format!("{} in {}", said?.content.text(), roots?[0].uri))
        })
    };
    for client in both(|| server().tool(muse())) {
        let client = client
            .on_sample(|asked| format!("{} words", asked.max_tokens))
            .roots(["file:///home/ada"]);
        assert_eq!(client.call("muse", ()).await.text(), "10 words in file:///home/ada");
    }
}

#[tokio::test]
async fn url_elicitation_calls_on_elicit() {
    let pay = || {
        tool("pay", |_, ctx| async move {
            let answer = ctx.elicit(Elicit::url("Please pay", "https://pay.example/7")).await?;
            Ok(answer.action())
        })
    };
    for client in both(|| server().tool(pay())) {
        let client = client.on_elicit(|asked| {
            assert_eq!(asked.url.as_deref(), Some("https://pay.example/7"));
            assert_eq!(asked.schema, None);
            Value::Null
        });
        assert_eq!(client.call("pay", ()).await.text(), "accept");
    }
}

#[tokio::test]
async fn unanswered_question_fails_the_test_with_advice() {
    let told = failure(server().tool(introduce()).test().call("introduce", ())).await;
    assert!(told.contains("did not declare"), "{told}");
    assert!(told.contains(".on_elicit(…)"), "{told}");

    // The legacy era has no such error: the tool gets it, and fails with its own message.
    let called = server().tool(introduce()).test_legacy().call("introduce", ()).await;
    assert!(called.is_error() && called.text().contains("elicitation"), "{called:?}");

    for client in both(|| server().tool(introduce())) {
        let client = client.on_elicit(|_| json!({})).capabilities(|can| can.elicitation = None);
        let answered = client.try_call("introduce", ()).await;
        assert!(answered.map_or(true, |called| called.is_error()), "the capability decides");
    }
    for client in both(|| server().tool(introduce())) {
        let client = client.capabilities(|can| {
            can.elicitation = Some(candor_server::protocol::types::ElicitationCapability::new());
        });
        let told = failure(client.call("introduce", ())).await;
        assert!(
            told.starts_with(
                r#"tools/call of "introduce": the server asks the user "First name?", and the test has no answer"#
            ),
            "{told}"
        );
    }
}

#[tokio::test]
async fn assertion_in_a_callback_fails_the_test() {
    for client in both(|| server().tool(introduce())) {
        let client = client.on_elicit(|asked| {
            assert_eq!(asked.message, "Your age?");
            json!({})
        });
        let told = failure(client.call("introduce", ())).await;
        assert!(told.contains("Your age?") && told.contains("First name?"), "{told}");
    }
}

#[tokio::test]
async fn question_that_changes_in_every_round_fails_the_test() {
    let runs = Arc::new(AtomicUsize::new(0));
    let fickle = tool("fickle", move |_, ctx| {
        let run = runs.fetch_add(1, Ordering::Relaxed);
        async move { name_of(&ctx, &format!("Name, for the {run}th time?")).await }
    });
    let client = server().tool(fickle).test().on_elicit(|_| json!({"name": "Ada"}));
    let told = failure(client.call("fickle", ())).await;
    assert!(told.contains("it must put the same question in the same words"), "{told}");
}

fn of_whom() -> impl Provider<ToolSet> {
    let set = |tools: Vec<JsonTool>| {
        let tools =
            tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn candor_server::tool::Tool>);
        Arc::new(ToolSet::new(tools).unwrap())
    };
    let (everyone, staff) = (set(vec![whoami()]), set(vec![whoami(), greet()]));
    provider_fn(move |principal: &Principal| {
        Ok(if principal.as_str() == "alice" { staff.clone() } else { everyone.clone() })
    })
}

#[tokio::test]
async fn by_returns_a_client_for_another_principal() {
    for client in both(|| server().tools_from(of_whom())) {
        assert_eq!(client.call("whoami", ()).await.text(), "tester");
        let alice = client.by("alice");
        assert_eq!(alice.call("whoami", ()).await.text(), "alice");
        assert_eq!(alice.tools().await.len(), 2);
        assert_eq!(client.tools().await.len(), 1);
        assert_eq!(client.try_call("greet", ()).await.unwrap_err().code(), -32602);
    }
}

#[tokio::test]
async fn client_can_speak_any_revision() {
    let revision = || tool("revision", |_, ctx| async move { Ok(ctx.client().revision.as_str()) });
    let client = server().tool(revision()).test();
    for revision in Revision::ALL {
        let called = client.speaking(revision).call("revision", ()).await;
        assert_eq!(called.text(), revision.as_str());
    }
}

#[tokio::test(start_paused = true)]
async fn hanging_handler_is_cancelled_and_fails_the_test() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let hangs = || {
        let tell = tell.clone();
        tool("hangs", move |_, ctx| {
            let tell = tell.clone();
            tokio::spawn(async move {
                ctx.cancelled().await;
                tell.send("taken back").unwrap();
            });
            std::future::pending::<Result<&str, _>>()
        })
    };
    for client in both(|| server().tool(hangs())) {
        let failed = failure(client.call("hangs", ())).await;
        assert!(failed.starts_with(r#"tools/call of "hangs" has no answer after 10s"#), "{failed}");
        assert_eq!(told.recv().await, Some("taken back"));

        let client = client.deadline(Duration::from_millis(50));
        let failed = failure(client.call("hangs", ())).await;
        assert!(failed.contains("after 50ms") && failed.contains(".deadline(…)"), "{failed}");
    }
}

#[tokio::test]
async fn client_can_be_shared_by_tasks() {
    for client in both(|| server().tool(greet())) {
        let client = Arc::new(client);
        let calls = (0..20).map(|n| {
            let client = client.clone();
            tokio::spawn(async move { client.call("greet", json!({"name": n.to_string()})).await })
        });
        for (n, called) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
            assert_eq!(called.unwrap().text(), format!("Hello, {n}!"));
        }
    }
}

#[tokio::test]
async fn request_sends_any_method() {
    let [modern, legacy] = both(|| server().tool(greet()).instructions("Be kind"));
    let discovered = modern.request("server/discover", ()).await.unwrap();
    assert_eq!(discovered["instructions"], "Be kind");
    assert_eq!(modern.request("ping", json!({})).await.unwrap_err().code(), -32601);
    assert_eq!(legacy.request("ping", json!({})).await.unwrap(), json!({}));
    for client in [modern, legacy] {
        let params = json!({"name": "greet", "arguments": ["Ada"]});
        let error = client.request("tools/call", params).await.unwrap_err();
        assert!(error.message.contains("arguments must be an object"), "{}", error.message);
    }
}

#[tokio::test]
async fn change_notifications_arrive_in_both_eras() {
    let [modern, legacy] = both(|| server().tools_from(of_whom()));
    let a_while = async || {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    };
    // The session forwards them in a task of its own.
    legacy.request("ping", ()).await.unwrap();
    legacy.engine().changes().tools();
    a_while().await;
    assert_eq!(legacy.notices()[0].method, "notifications/tools/list_changed");

    // The stream is a request; it is answered when the server stops.
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let (ended, ()) = tokio::join!(modern.request("subscriptions/listen", wanted), async {
        a_while().await;
        modern.engine().changes().tools();
        a_while().await;
        modern.engine().stop();
    });
    ended.unwrap();
    let heard: Vec<_> = modern.notices().into_iter().map(|notice| notice.method).collect();
    let expected = ["notifications/subscriptions/acknowledged", "notifications/tools/list_changed"];
    assert_eq!(heard, expected);
}

#[tokio::test]
async fn server_limits_apply_to_the_test_client() {
    let client = server().tool(greet()).limits(|limits| limits.depth = 8).test();
    let mut deep = json!("Ada");
    for _ in 0..8 {
        deep = json!([deep]);
    }
    let error = client.try_call("greet", json!({"name": deep})).await.unwrap_err();
    assert!(error.message.contains("nested deeper than 8 levels"), "{}", error.message);

    let client = server().tool(greet()).limits(|limits| limits.message_bytes = 1000).test();
    let error = client.try_call("greet", json!({"name": "a".repeat(1000)})).await.unwrap_err();
    assert_eq!(error.message, "the message is too long: at most 1000 bytes are allowed");
}

#[tokio::test]
async fn unbuildable_server_fails_the_test_with_the_reason() {
    let told = failure(async { server().tool(greet()).tool(greet()).test() }).await;
    assert!(told.starts_with("the server cannot be built: "), "{told}");
    assert!(told.contains("greet"), "{told}");
}

/// Not a test of its own: a program whose `main` returns the error ends as this does.
#[test]
#[ignore = "run by build_error_prints_its_sentence_from_main"]
fn main_that_returns_a_build_error() -> Result<(), candor_server::BuildError> {
    let twice = || JsonTool::open("twice", |_, _| async { Ok::<_, ToolError>("ok") });
    Server::new("s", "1").tool(twice()).tool(twice()).build().map(drop)
}

#[test]
fn build_error_prints_its_sentence_from_main() {
    let ended = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "main_that_returns_a_build_error", "--nocapture"])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success());
    let sentence = "Error: tool \"twice\": another tool has this name\n";
    assert!(printed.contains(sentence), "{printed}");
}

#[tokio::test]
async fn internal_reason_is_visible_to_the_test_and_not_to_the_caller() {
    let disk = || {
        JsonTool::open("disk", |_, _| async {
            Err::<(), _>(ToolError::internal("the disk is full"))
        })
    };
    let panics = || {
        JsonTool::open("panics", |_, _| async {
            if true {
                panic!("index out of bounds")
            }
            Ok::<_, ToolError>(())
        })
    };
    for client in [
        Server::new("s", "1").tool(disk()).tool(panics()).test(),
        Server::new("s", "1").tool(disk()).tool(panics()).test_legacy(),
    ] {
        for client in [client.by("ada"), client.keyed("k1")] {
            let called = client.call("disk", ()).await;
            assert!(!called.raw().to_string().contains("full"), "{}", called.raw());
            assert_eq!(called.internal_reason(), Some("the disk is full"));
            assert!(called.to_string().ends_with("internal reason: the disk is full"), "{called}");
            assert_eq!(client.internal_reasons(), ["the disk is full"]);
        }
        let called = client.call("panics", ()).await;
        assert_eq!(called.internal_reason(), Some("the handler panicked: index out of bounds"));
    }
}

#[tokio::test]
async fn failure_of_the_test_client_shows_the_internal_reason() {
    use candor_server::tool::{ProviderError, ToolSet, provider_fn};
    let failing = provider_fn::<ToolSet, _>(|_| Err(ProviderError::new("the directory is down")));
    let client = Server::new("s", "1").tools_from(failing).test();
    let error = client.try_call("any", ()).await.unwrap_err();
    assert!(!format!("{error:?}").contains("directory"), "{error:?}");
    let failed = AssertUnwindSafe(client.tools());
    let panic = failed.catch_unwind().await.unwrap_err();
    let words = panic.downcast_ref::<String>().unwrap();
    assert!(
        words.contains("internal reason: the source of tools failed: the directory is down"),
        "{words}"
    );
}

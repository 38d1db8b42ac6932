//! Questions in the modern era: the answer is a question, and the client asks again with the answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use candor_server::prompt::{self, Prompt};
use candor_server::protocol::types::{Resource, ResourceContents};
use candor_server::resource::ResourceSet;
use candor_server::tool::{JsonTool, ToolError};
use candor_server::{CacheHint, CacheScope, Ctx, Elicit, Sample};
use serde_json::{Value, json};

use crate::common::{CAPABILITIES_KEY, Call, Site, failure, forgeries, modern, server, text, tool};

fn form() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
}

async fn ask(ctx: &Ctx, key: &str, message: &str) -> Result<String, ToolError> {
    let answer = ctx.elicit(Elicit::form(message, &form()).key(key)).await?;
    Ok(match answer.accepted() {
        Some(answer) => answer["name"].as_str().unwrap().to_owned(),
        None => format!("nobody ({})", answer.action()),
    })
}

fn greeter() -> JsonTool {
    tool("greet", |_, ctx| async move {
        Ok(format!("Hello, {}!", ask(&ctx, "who", "Your name?").await?))
    })
}

/// A request of a client that can answer every question, with members of a retry.
fn able(method: &str, params: &Value, retry: &Value) -> Call {
    let mut params = params.clone();
    for (key, value) in retry.as_object().unwrap() {
        params[key] = value.clone();
    }
    let capabilities = json!({"elicitation": {}, "sampling": {}, "roots": {}});
    params["_meta"] = json!({CAPABILITIES_KEY: capabilities});
    modern(method, &params)
}

fn greeting(retry: &Value) -> Call {
    able("tools/call", &json!({"name": "greet", "arguments": {"a": 1}}), retry)
}

fn accept(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

/// Sends a request that is answered with questions; gives these and the state.
async fn questions(site: &Site, call: Call) -> (Value, Value) {
    let mut result = site.send(call).await.result().await;
    assert_eq!(result["resultType"], "input_required", "{result}");
    assert!(result["requestState"].is_string());
    (result["inputRequests"].take(), result["requestState"].take())
}

#[tokio::test]
async fn answered_question_completes_the_call() {
    let site = Site::of(server().tool(greeter()));
    let result = site.send(greeting(&json!({}))).await.result().await;
    let params = json!({"message": "Your name?", "requestedSchema": form()});
    assert_eq!(
        result["inputRequests"],
        json!({"who": {"method": "elicitation/create", "params": params}})
    );
    assert_eq!(result["resultType"], "input_required");
    assert_eq!(result.get("content"), None);

    let retry =
        json!({"requestState": result["requestState"], "inputResponses": {"who": accept("Ada")}});
    let result = site.send(greeting(&retry)).await.result().await;
    assert_eq!(result["resultType"], "complete");
    assert_eq!(text(&result), "Hello, Ada!");
    assert_eq!(result.get("requestState"), None);
}

#[tokio::test]
async fn declined_question_reaches_the_tool() {
    let site = Site::of(server().tool(greeter()));
    let (_, state) = questions(&site, greeting(&json!({}))).await;
    let retry = json!({"requestState": state, "inputResponses": {"who": {"action": "decline"}}});
    let result = site.send(greeting(&retry)).await.result().await;
    assert_eq!(text(&result), "Hello, nobody (decline)!");
}

#[tokio::test]
async fn concurrent_questions_go_out_in_one_round() {
    let all_at_once = tool("survey", |_, ctx| async move {
        let (name, sample, roots) = tokio::join!(
            ask(&ctx, "who", "Your name?"),
            ctx.sample(Sample::new("Say something", 10).key("what")),
            ctx.roots()
        );
        let said = serde_json::to_value(&sample?.content).unwrap();
        let roots = roots?;
        Ok(format!("{} says {} in {}", name?, said["text"], roots[0].uri))
    });
    let site = Site::of(server().tool(all_at_once));
    let survey = |retry: &Value| able("tools/call", &json!({"name": "survey"}), retry);
    let (asked, state) = questions(&site, survey(&json!({}))).await;
    let methods: Vec<_> = asked
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, question)| (key.as_str(), question["method"].as_str().unwrap()))
        .collect();
    assert_eq!(
        methods,
        [
            ("client_roots", "roots/list"),
            ("what", "sampling/createMessage"),
            ("who", "elicitation/create")
        ]
    );
    let said =
        json!({"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"});
    let answers = json!({
        "who": accept("Ada"),
        "what": said,
        "client_roots": {"roots": [{"uri": "file:///home"}]},
    });
    let retry = json!({"requestState": state, "inputResponses": answers});
    let result = site.send(survey(&retry)).await.result().await;
    assert_eq!(text(&result), r#"Ada says "hi" in file:///home"#);
}

#[tokio::test]
async fn second_round_keeps_the_answer_of_the_first() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let two = tool("greet", move |_, ctx| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move {
            let first = ask(&ctx, "first", "First name?").await?;
            let last = ask(&ctx, "last", &format!("Last name, {first}?")).await?;
            Ok(format!("{first} {last}"))
        }
    });
    let site = Site::of(server().tool(two));
    let (asked, one) = questions(&site, greeting(&json!({}))).await;
    assert_eq!(asked.as_object().unwrap().len(), 1);
    assert_eq!(asked["first"]["params"]["message"], "First name?");

    let retry = json!({"requestState": one, "inputResponses": {"first": accept("Ada")}});
    let (asked, two) = questions(&site, greeting(&retry)).await;
    assert_eq!(asked.as_object().unwrap().len(), 1);
    assert_eq!(asked["last"]["params"]["message"], "Last name, Ada?");
    assert_ne!(one, two);

    let retry = json!({"requestState": two, "inputResponses": {"last": accept("Lovelace")}});
    let result = site.send(greeting(&retry)).await.result().await;
    assert_eq!(text(&result), "Ada Lovelace");
    assert_eq!(runs.load(Ordering::Relaxed), 3, "each round runs the tool");
}

#[tokio::test]
async fn missing_answer_is_requested_again() {
    let site = Site::of(server().tool(greeter()));
    let (_, state) = questions(&site, greeting(&json!({}))).await;
    let retry = json!({"requestState": state, "inputResponses": {"whom": accept("Eve")}});
    let (asked, state) = questions(&site, greeting(&retry)).await;
    assert_eq!(asked["who"]["params"]["message"], "Your name?");
    let answers = json!({"who": accept("Ada"), "whom": accept("Eve")});
    let retry = json!({"requestState": state, "inputResponses": answers});
    let result = site.send(greeting(&retry)).await.result().await;
    assert_eq!(text(&result), "Hello, Ada!");
}

#[tokio::test]
async fn forged_state_or_state_of_another_call_is_refused() {
    let other = tool("leave", |_, ctx| async move { ask(&ctx, "who", "Your name?").await });
    let site = Site::of(server().tool(greeter()).tool(other));
    let (_, state) = questions(&site, greeting(&json!({}))).await;
    let state = state.as_str().unwrap();
    let answers = json!({"who": accept("Eve")});
    let with = |params: Value, state: &str| {
        let retry = json!({"requestState": state, "inputResponses": answers});
        able("tools/call", &params, &retry)
    };
    let same = json!({"name": "greet", "arguments": {"a": 1}});
    let mut useless = vec![
        with(same.clone(), "c3RhdGU"),
        with(json!({"name": "greet", "arguments": {"a": 2}}), state),
        with(json!({"name": "leave", "arguments": {"a": 1}}), state),
    ];
    useless.extend(forgeries(state).iter().map(|forged| with(same.clone(), forged)));
    for call in useless {
        let error = site.send(call).await.error(200, -32602).await;
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with("Invalid requestState: "), "{message}");
    }
    let result = site.send(with(same, state)).await.result().await;
    assert_eq!(text(&result), "Hello, Eve!", "the state is valid for its own call");
}

#[tokio::test]
async fn state_of_another_principal_is_refused() {
    let site = Site::guarded(server().tool(greeter()));
    let (_, state) = questions(&site, greeting(&json!({})).by("alice")).await;
    let retry = json!({"requestState": state, "inputResponses": {"who": accept("Ada")}});
    let error = site.send(greeting(&retry).by("bob")).await;
    let error = error.error(200, -32602).await;
    assert!(error["message"].as_str().unwrap().starts_with("Invalid requestState: "));
    let result = site.send(greeting(&retry).by("alice")).await.result().await;
    assert_eq!(text(&result), "Hello, Ada!");
}

#[tokio::test]
async fn client_without_the_capability_is_not_asked() {
    let sampler = tool("muse", |_, ctx| async move {
        ctx.sample(Sample::new("Well?", 10)).await?;
        Ok("said")
    });
    let site = Site::of(server().tool(greeter()).tool(sampler));
    for (name, needed) in [("greet", json!({"elicitation": {}})), ("muse", json!({"sampling": {}}))]
    {
        let call = modern("tools/call", &json!({"name": name}));
        let error = site.send(call).await.error(400, -32021).await;
        assert_eq!(error["data"], json!({"requiredCapabilities": needed}));
    }
}

#[tokio::test]
async fn answer_that_violates_the_form_is_refused() {
    let site = Site::of(server().tool(greeter()));
    for (answer, problem) in [
        (
            json!({"action": "accept", "content": {"name": 7}}),
            "/name: expected a string, received the number 7",
        ),
        (json!({"action": "accept"}), "/name: required, but missing; expected a string"),
        (json!({"action": "shrug"}), r#"unknown action "shrug""#),
    ] {
        let (_, state) = questions(&site, greeting(&json!({}))).await;
        let retry = json!({"requestState": state, "inputResponses": {"who": answer}});
        let error = site.send(greeting(&retry)).await.error(200, -32602).await;
        assert_eq!(error["message"], format!("Invalid params: inputResponses: {problem}"));
    }
    let (_, state) = questions(&site, greeting(&json!({}))).await;
    let retry = json!({"requestState": state, "inputResponses": null});
    site.send(greeting(&retry)).await.error(200, -32602).await;
}

#[tokio::test]
async fn tool_can_fail_after_an_answer_with_its_own_message() {
    let strict = tool("greet", |_, ctx| async move {
        let name = ask(&ctx, "who", "Your name?").await?;
        Err::<&str, _>(ToolError::new(format!("{name} is not on the list.")))
    });
    let site = Site::of(server().tool(strict));
    let (_, state) = questions(&site, greeting(&json!({}))).await;
    let retry = json!({"requestState": state, "inputResponses": {"who": accept("Eve")}});
    let result = site.send(greeting(&retry)).await.result().await;
    assert_eq!(failure(&result), "Eve is not on the list.");
}

#[tokio::test]
async fn prompt_can_elicit_input() {
    let letter = Prompt::new("letter", |_, ctx| async move {
        Ok(prompt::user(ask(&ctx, "who", "To whom?").await?))
    });
    let site = Site::of(server().prompt(letter));
    let get = |retry: &Value| able("prompts/get", &json!({"name": "letter"}), retry);
    let (_, state) = questions(&site, get(&json!({}))).await;
    let retry = json!({"requestState": state, "inputResponses": {"who": accept("Ada")}});
    let result = site.send(get(&retry)).await.result().await;
    assert_eq!(result["messages"][0]["content"]["text"], "Ada");
}

/// Caching, "Cache Key": results of requests with `inputResponses` or `requestState` MUST NOT be cached.
#[tokio::test]
async fn read_that_elicited_input_is_not_cacheable() {
    let diary = ResourceSet::new().resource(
        Resource::new("memo:///diary", "diary"),
        |uri, ctx| async move {
            let who = ask(&ctx, "who", "Who reads?").await?;
            Ok(vec![ResourceContents::of_text(uri, "text/plain", who)])
        },
    );
    let public = CacheHint { ttl_ms: 60_000, scope: CacheScope::Public };
    let site = Site::of(server().resources(diary).cache(public));
    let read = |retry: &Value| able("resources/read", &json!({"uri": "memo:///diary"}), retry);
    let asked = site.send(read(&json!({}))).await.result().await;
    assert_eq!(asked["resultType"], "input_required");
    assert_eq!((asked.get("ttlMs"), asked.get("cacheScope")), (None, None));

    let retry =
        json!({"requestState": asked["requestState"], "inputResponses": {"who": accept("Ada")}});
    let result = site.send(read(&retry)).await.result().await;
    assert_eq!(result["contents"][0]["text"], "Ada");
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(0), &json!("private")));
}

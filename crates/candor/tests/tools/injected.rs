//! Parameters that come from the server, and never from the caller.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use candor::prelude::*;
use candor::protocol::Principal;
use candor::{BuildError, FromCtx, json};

use crate::{call, input, server};

#[derive(Default)]
struct Counter(AtomicU32);

struct Greeting(&'static str);

/// Made of what the context knows.
struct Caller(String);

impl FromCtx for Caller {
    fn from_ctx(ctx: &Ctx) -> Result<Self, ToolError> {
        match ctx.principal().as_str() {
            "mallory" => Err(ToolError::new("You are not welcome here").code("unwelcome")),
            name => Ok(Self(name.to_uppercase())),
        }
    }
}

type Greetings = State<Greeting>;

#[tool(reads)]
async fn greet(
    ctx: Ctx,
    name: String,
    principal: Principal,
    counter: State<Counter>,
    #[inject] greeting: Greetings,
    #[inject] caller: Caller,
) -> String {
    ctx.progress(1, 1, "greeting").await;
    let count = counter.0.fetch_add(1, Ordering::Relaxed);
    format!("{} {name} from {} ({}), {count} before", greeting.0, principal.as_str(), caller.0)
}

#[tokio::test]
async fn injected_parameters_are_not_in_the_schema() {
    let server = || server(tools![greet]).state(Counter::default()).state(Greeting("Hello"));
    for client in [server().test(), server().test_legacy()] {
        let schema = input(&client, "greet").await;
        let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["name"]);
        let called = call(&client, "greet", json!({"name": "Ada"})).await;
        assert_eq!(called.text(), "Hello Ada from tester (TESTER), 0 before");
        assert_eq!(called.progress().len(), 1);
        let called = call(&client.by("bob"), "greet", json!({"name": "Eve"})).await;
        assert_eq!(called.text(), "Hello Eve from bob (BOB), 1 before");
        for name in ["ctx", "principal", "counter", "greeting"] {
            let refused = client.call("greet", json!({"name": "Ada", name: {}})).await;
            assert!(refused.is_error(), "{name} was accepted from a caller");
        }
    }
}

#[tokio::test]
async fn failed_injection_fails_the_call_with_its_error() {
    let client = server(tools![greet]).state(Counter::default()).state(Greeting("Hello")).test();
    let refused = client.by("mallory").call("greet", json!({"name": "Ada"})).await;
    assert!(refused.is_error());
    assert_eq!(refused.text(), "You are not welcome here");
    assert_eq!(refused.raw()["_meta"]["dev.candor/error"]["code"], "unwelcome");
}

#[test]
fn server_without_the_state_of_its_tools_does_not_build() {
    let error = server(tools![greet]).state(Counter::default()).build().err().unwrap();
    assert!(matches!(error, BuildError::MissingState { .. }));
    let error = error.to_string();
    assert!(error.contains("\"greet\"") && error.contains("injected::Greeting"), "{error}");
    assert!(error.contains(".state("), "{error}");
}

#[tokio::test]
async fn shared_state_stays_shared() {
    let counter = Arc::new(Counter::default());
    let client =
        server(tools![greet]).shared_state(counter.clone()).state(Greeting("Hello")).test();
    call(&client, "greet", json!({"name": "Ada"})).await;
    assert_eq!(counter.0.load(Ordering::Relaxed), 1);
}

/// A state of the world, not of the server: only `State<…>` is taken for the latter.
mod of_the_user {
    use super::{call, input, json, server};
    use candor::prelude::{tool, tools};

    #[candor::args]
    #[derive(Debug)]
    enum State {
        Open,
        Closed,
    }

    #[tool(reads)]
    fn find(state: State) -> String {
        format!("{state:?} {:?}", State::Closed)
    }

    #[tokio::test]
    async fn user_type_named_state_is_an_argument() {
        let client = server(tools![find]).test();
        assert_eq!(input(&client, "find").await["required"], json!(["state"]));
        assert_eq!(call(&client, "find", json!({"state": "open"})).await.text(), "Open Closed");
    }
}

//! Completions with a context: who types, and the server's state.

use candor_server::protocol::types::ResourceTemplate;
use candor_server::resource::ResourceSet;
use candor_server::{Elicit, Server};
use serde_json::{Value, json};

use crate::common::{Call, Session, Site, memos, modern, server};

struct Words(Vec<&'static str>);

fn completing() -> Server {
    let template = ResourceTemplate::new("note:///{day}", "notes");
    let notes = ResourceSet::new().template(template, |_, _, _| async { Ok("note") }).unwrap();
    server()
        .state(Words(vec!["monday", "moon", "sunday"]))
        .resources(memos())
        .resources(notes)
        .complete_prompt("hello", "name", |typed, others, ctx| async move {
            vec![format!("{typed} by {} with {}", ctx.principal(), others.len())]
        })
        .complete_prompt("hello", "day", |typed, _, ctx| async move {
            let words = ctx.state::<Words>()?;
            Ok(words
                .0
                .iter()
                .filter(|word| word.starts_with(&typed))
                .map(ToString::to_string)
                .collect())
        })
        .complete_prompt("hello", "lost", |_, _, ctx| async move {
            ctx.state::<u8>()?;
            Ok(Vec::new())
        })
        .complete_prompt("hello", "asks", |_, _, ctx| async move {
            ctx.elicit(Elicit::form("?", &json!({"type": "object"}))).await?;
            Ok(Vec::new())
        })
        .complete_prompt("hello", "panics", |_, _, _| async move {
            if true {
                panic!("secret");
            }
            Vec::new()
        })
        .complete_template("note:///{day}", "day", |_, _, ctx| async move {
            vec![ctx.principal().to_string()]
        })
}

fn params(argument: &str, typed: &str) -> Value {
    json!({
        "ref": {"type": "ref/prompt", "name": "hello"},
        "argument": {"name": argument, "value": typed},
        "context": {"arguments": {"other": "x"}},
    })
}

fn complete(argument: &str, typed: &str) -> Call {
    modern("completion/complete", &params(argument, typed))
}

#[tokio::test]
async fn completion_knows_its_caller_and_the_state_in_both_eras() {
    let site = Site::guarded(completing());
    for who in ["alice", "bob"] {
        let session = Session::by(&site, who).await;
        for (argument, expected) in
            [("name", json!([format!("mo by {who} with 1")])), ("day", json!(["monday", "moon"]))]
        {
            let result = site.send(complete(argument, "mo").by(who)).await.result().await;
            assert_eq!(result["completion"]["values"], expected);
            let legacy = session.request("completion/complete", &params(argument, "mo")).await;
            assert_eq!(legacy.result().await["completion"]["values"], expected);
        }
        let template = json!({
            "ref": {"type": "ref/resource", "uri": "note:///{day}"},
            "argument": {"name": "day", "value": ""},
        });
        let call = modern("completion/complete", &template).by(who);
        assert_eq!(site.send(call).await.result().await["completion"]["values"], json!([who]));
    }
}

#[tokio::test]
async fn completion_that_fails_hides_the_reason() {
    let site = Site::of(completing());
    for argument in ["lost", "panics"] {
        let error = site.send(complete(argument, "")).await.json().await;
        assert_eq!(error["error"]["code"], -32603, "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn completion_that_elicits_input_is_an_internal_error() {
    let client = completing().test().on_elicit(|_| json!({}));
    let request = client.request("completion/complete", params("asks", ""));
    assert_eq!(request.await.unwrap_err().code(), -32603);
    assert!(client.internal_reasons()[0].contains("asked the client a question"));
}

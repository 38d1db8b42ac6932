//! The whole path, thin: connect, list, foresee, call, read, in both eras over both transports.

mod common;

use candor::prelude::*;
use candor_client::{Error, Hints, Trust};
use serde_json::json;

use common::{everywhere, soon};

#[candor::args]
enum Action {
    #[effect(read_only)]
    Read,
    #[effect(destructive, idempotent)]
    Delete,
}

/// Reads or deletes
#[tool(effects(by = action), closed_world)]
async fn manage(path: String, action: Action) -> String {
    match action {
        Action::Read => format!("content of {path}"),
        Action::Delete => format!("{path} is gone"),
    }
}

/// Adds two numbers
#[tool(read_only, closed_world)]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Takes its time
#[tool(read_only, closed_world)]
async fn slow(ctx: Ctx) -> String {
    for done in 1..=3 {
        ctx.progress(done, 3, Some("going")).await;
    }
    "done".to_owned()
}

/// Asks for a name
#[tool(read_only, closed_world)]
async fn ask_name(ctx: Ctx) -> Result<String, ToolError> {
    let form =
        json!({"type": "object", "properties": {"name": {"type": "string", "default": "nobody"}}});
    let answer = ctx.elicit(Elicit::form("Who?", &form)).await?;
    Ok(answer.accepted().map_or("no".to_owned(), |form| form["name"].to_string()))
}

fn server() -> Server {
    Server::new("world", "1.0.0").tools(tools![manage, add, slow, ask_name])
}

#[tokio::test]
async fn connect_list_foresee_and_call() {
    everywhere(server, async |way, connect| {
        let client = soon(connect.trust(Trust::Known).into_future()).await.expect(&way);
        assert_eq!(client.server().unwrap().name, "world", "{way}");
        let tools = soon(client.tools()).await.expect(&way);
        let names: Vec<_> = tools.iter().map(|tool| tool.name().to_owned()).collect();
        assert_eq!(names, ["manage", "add", "slow", "ask_name"], "{way}");

        let reads = json!({"path": "a", "action": "read"});
        let deletes = json!({"path": "a", "action": "delete"});
        let hints = soon(client.foresee("manage", &reads)).await.expect(&way).hints;
        assert_eq!(hints, Hints::READS.closed_world(), "{way}");
        let hints = soon(client.foresee("manage", &deletes)).await.expect(&way).hints;
        assert!(hints.is_destructive(), "{way}");

        let sum =
            soon(client.call("add", json!({"a": 2, "b": 3})).into_future()).await.expect(&way);
        assert_eq!(sum.value(), Some(&json!(5)), "{way}: out of its box");
        assert_eq!(sum.parse::<i64>().unwrap(), 5);

        let read = soon(client.call_safely("manage", reads).into_future()).await.expect(&way);
        assert_eq!(read.text(), "content of a", "{way}: nobody is asked");
        let refused = soon(client.call_safely("manage", deletes).into_future()).await;
        assert!(matches!(refused, Err(Error::Refused(_))), "{way}: nobody to ask never means yes");
        soon(client.close()).await;
    })
    .await;
}

#[tokio::test]
async fn progress_comes_in_order_and_before_the_result() {
    everywhere(server, async |way, connect| {
        let client = soon(connect.into_future()).await.expect(&way);
        let (tell, told) = std::sync::mpsc::channel();
        let call = client.call("slow", json!({})).on_progress(move |p| tell.send(p.done).unwrap());
        let result = soon(call.into_future()).await.expect(&way);
        assert_eq!(result.text(), "done");
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [1.0, 2.0, 3.0], "{way}");
    })
    .await;
}

#[tokio::test]
async fn questions_are_answered_with_their_defaults() {
    everywhere(server, async |way, connect| {
        let connect = connect.on_elicit(|asked| async move {
            assert_eq!(asked.message, "Who?");
            candor_client::Elicited::Accept(serde_json::Map::new())
        });
        let client = soon(connect.into_future()).await.expect(&way);
        let answer = soon(client.call("ask_name", json!({})).into_future()).await.expect(&way);
        assert_eq!(answer.text(), "\"nobody\"", "{way}");
    })
    .await;
}

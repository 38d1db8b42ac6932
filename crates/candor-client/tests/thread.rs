//! The whole path, thin: connect, list, explain, call, read, in both eras over both transports.

mod common;

use candor::prelude::*;
use candor_client::types::{CreateMessageResult, Role, Root};
use candor_client::{Era, Error, Hints, Trust};
use serde_json::json;

use common::{everywhere, soon};

#[candor::args]
enum Action {
    #[effect(reads)]
    Read,
    #[effect(deletes, idempotent)]
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
#[tool(reads, closed_world)]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Takes its time
#[tool(reads, closed_world)]
async fn slow(ctx: Ctx) -> String {
    for done in 1..=3 {
        ctx.progress(done, 3, Some("going")).await;
    }
    "done".to_owned()
}

/// Asks for a name
#[tool(reads, closed_world)]
async fn ask_name(ctx: Ctx) -> Result<String, ToolError> {
    let form =
        json!({"type": "object", "properties": {"name": {"type": "string", "default": "nobody"}}});
    let answer = ctx.elicit(Elicit::form("Who?", &form)).await?;
    Ok(answer.accepted().map_or("no".to_owned(), |form| form["name"].to_string()))
}

/// Asks the model and for the folders
#[tool(reads, closed_world)]
async fn ask_others(ctx: Ctx) -> Result<String, ToolError> {
    let said = ctx.sample(Sample::new("Say hello", 10)).await?.content.text();
    let folders = ctx.roots().await?;
    Ok(format!("{said} from {}", folders[0].uri))
}

fn server() -> Server {
    Server::new("world", "1.0.0").tools(tools![manage, add, slow, ask_name, ask_others])
}

#[tokio::test]
async fn client_lists_explains_and_calls_over_every_transport() {
    everywhere(server, async |way, connect| {
        let client = soon(connect.trust(Trust::Trusted).into_future()).await.expect(&way);
        assert_eq!(client.server().unwrap().name, "world", "{way}");
        let tools = soon(client.tools()).await.expect(&way);
        let names: Vec<_> = tools.iter().map(|tool| tool.name().to_owned()).collect();
        assert_eq!(names, ["manage", "add", "slow", "ask_name", "ask_others"], "{way}");

        let reads = json!({"path": "a", "action": "read"});
        let deletes = json!({"path": "a", "action": "delete"});
        let hints = soon(client.explain("manage", &reads)).await.expect(&way).hints;
        assert_eq!(hints, Hints::READS.closed_world(), "{way}");
        let hints = soon(client.explain("manage", &deletes)).await.expect(&way).hints;
        assert!(hints.is_destructive(), "{way}");

        let sum =
            soon(client.call("add", json!({"a": 2, "b": 3})).into_future()).await.expect(&way);
        assert_eq!(sum.value(), Some(&json!(5)), "{way}: unwrapped");
        assert_eq!(sum.parse::<i64>().unwrap(), 5);

        let read = soon(client.call_safely("manage", reads).into_future()).await.expect(&way);
        assert_eq!(read.text(), "content of a", "{way}: no confirmation");
        let refused = soon(client.call_safely("manage", deletes).into_future()).await;
        assert!(matches!(refused, Err(Error::Refused(_))), "{way}: no prompt never means yes");
        soon(client.close()).await;
    })
    .await;
}

#[tokio::test]
async fn progress_arrives_in_order_before_the_result() {
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
async fn client_answers_sampling_and_roots_questions() {
    everywhere(server, async |way, connect| {
        let connect = connect
            .on_sample(|asked| async move {
                assert_eq!(asked.messages.len(), 1);
                let hello = Content::text("hello");
                Ok(CreateMessageResult::new(Role::Assistant, hello, "a-model"))
            })
            .roots([Root::new("file:///home")]);
        let client = soon(connect.into_future()).await.expect(&way);
        let answer = soon(client.call("ask_others", json!({})).into_future()).await.expect(&way);
        assert_eq!(answer.text(), "hello from file:///home", "{way}");
    })
    .await;
}

#[tokio::test]
async fn declined_question_reaches_the_tool() {
    everywhere(server, async |way, connect| {
        let connect = connect.on_elicit(|_| async { candor_client::ElicitReply::Decline });
        let client = soon(connect.into_future()).await.expect(&way);
        let answer = soon(client.call("ask_name", json!({})).into_future()).await.expect(&way);
        assert_eq!(answer.text(), "no", "{way}");
    })
    .await;
    everywhere(server, async |way, connect| {
        let client = soon(connect.into_future()).await.expect(&way);
        let answer = soon(client.call("ask_name", json!({})).into_future()).await;
        assert!(
            answer.as_ref().map_or(true, candor_client::CallResult::is_error),
            "{way}: {answer:?}"
        );
        // And the client is still of use.
        soon(client.call("add", json!({"a": 1, "b": 1})).into_future()).await.expect(&way);
    })
    .await;
}

#[tokio::test]
async fn server_accepts_only_the_right_token() {
    let tokens = candor::auth::BearerTokens::default().token("secret", Principal::new("ada"));
    let mut http = candor::transport::http::Http::default();
    http.authenticator = Some(std::sync::Arc::new(tokens));
    let site = common::Site::with(server(), http).await;
    for era in [Era::Modern, Era::Legacy] {
        let client = soon(site.client().bearer("secret").era(era).into_future()).await.unwrap();
        assert_eq!(soon(client.tools()).await.unwrap().len(), 5);
        for wrong in [site.client(), site.client().bearer("guess")] {
            let told = soon(wrong.era(era).into_future()).await;
            assert!(matches!(told, Err(Error::Unauthorized { .. })), "{told:?}");
        }
    }
}

#[tokio::test]
async fn accepted_question_without_values_uses_defaults() {
    everywhere(server, async |way, connect| {
        let connect = connect.on_elicit(|asked| async move {
            assert_eq!(asked.message, "Who?");
            candor_client::ElicitReply::Accept(serde_json::Map::new())
        });
        let client = soon(connect.into_future()).await.expect(&way);
        let answer = soon(client.call("ask_name", json!({})).into_future()).await.expect(&way);
        assert_eq!(answer.text(), "\"nobody\"", "{way}");
    })
    .await;
}

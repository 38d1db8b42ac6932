//! Looked at, confirmed, then done: never the last without the first two.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use candor::prelude::*;
use candor_client::{Error, RefusalSource, Trust};
use serde_json::json;

use common::{everywhere, soon};

#[derive(Clone, Default)]
struct Tables(Arc<AtomicUsize>);

/// Drops a table
#[tool(deletes, closed_world, preview = plan_drop, requires_preview)]
async fn drop_table(table: String, tables: State<Tables>) -> String {
    tables.0.fetch_add(1, Ordering::SeqCst);
    format!("{table} is gone")
}

#[allow(clippy::unused_async)]
async fn plan_drop(table: String, _tables: State<Tables>) -> Result<Plan<String>, ToolError> {
    if table == "nobody" {
        return Err(ToolError::new("there is no table nobody"));
    }
    Ok(Plan::new(format!("Would drop {table} with 3 rows."), "3".to_owned()))
}

/// Empties a table
#[tool(deletes, closed_world, preview = plan_empty)]
async fn empty_table(table: String, tables: State<Tables>) -> String {
    tables.0.fetch_add(1, Ordering::SeqCst);
    format!("{table} is empty")
}

#[allow(clippy::unused_async)]
async fn plan_empty(table: String, _tables: State<Tables>) -> Result<Plan<String>, ToolError> {
    Ok(Plan::new(format!("Would delete 3 rows of {table}."), "3".to_owned()))
}

/// Says yes
#[tool(reads, closed_world)]
async fn plain() -> String {
    "yes".to_owned()
}

#[tokio::test]
async fn preview_is_part_of_the_confirmation() {
    for (tool, seen) in [
        ("drop_table", "Would drop users with 3 rows."),
        ("empty_table", "Would delete 3 rows of users."),
    ] {
        let done = Tables::default();
        let world = done.clone();
        let server = move || {
            let tools = tools![drop_table, empty_table];
            Server::new("db", "1").state(world.clone()).tools(tools)
        };
        let runs = done.clone();
        everywhere(server, async |way, connect| {
            let client = soon(connect.trust(Trust::Trusted).into_future()).await.expect(&way);
            let before = runs.0.load(Ordering::SeqCst);
            let arguments = json!({"table": "users"});
            let refused = soon(client.call_safely(tool, arguments.clone()).into_future()).await;
            assert!(matches!(refused, Err(Error::Refused(RefusalSource::NoPrompt))), "{way}");

            let shown = Arc::new(Mutex::new(None));
            let (ours, counted) = (shown.clone(), runs.clone());
            let call = client.call_safely(tool, arguments).confirm(move |proposal| async move {
                assert_eq!(counted.0.load(Ordering::SeqCst), before, "nothing has run yet");
                *ours.lock().unwrap() = Some(proposal);
                true
            });
            let result = soon(call.into_future()).await.expect(&way);
            assert!(!result.is_error(), "{way}: {}", result.text());
            let shown = shown.lock().unwrap().take().expect("the host asked");
            assert_eq!(shown.preview.as_deref(), Some(seen), "{way}");
            assert!(shown.summary().contains(seen));
            assert_eq!(runs.0.load(Ordering::SeqCst), before + 1, "{way}");
        })
        .await;
    }
}

#[tokio::test]
async fn client_previews_a_call_without_running_it() {
    let done = Tables::default();
    let world = done.clone();
    let server = move || {
        let tools = tools![drop_table, empty_table, plain];
        Server::new("db", "1").state(world.clone()).tools(tools)
    };
    everywhere(server, async |way, connect| {
        let client = soon(connect.trust(Trust::Trusted).into_future()).await.expect(&way);
        // The preview drops arguments that only the call takes.
        let users = json!({"table": "users", "plan_token": "an old one", "idempotency_key": "k"});
        let shown = soon(client.preview("drop_table", &users)).await.expect(&way).unwrap();
        assert_eq!(shown.text(), "Would drop users with 3 rows.", "{way}");
        let call = client.call("drop_table", json!({"table": "users"}));
        let call = call.plan_token(shown.plan_token.expect("a token"));
        assert!(!soon(call.into_future()).await.expect(&way).is_error(), "{way}");
        assert!(soon(client.preview("plain", &json!({}))).await.expect(&way).is_none());
        let nobody = soon(client.preview("drop_table", &json!({"table": "nobody"}))).await;
        let Err(failed @ Error::PreviewFailed(_)) = nobody else { panic!("{way}: {nobody:?}") };
        assert_eq!(failed.to_string(), "the preview failed: there is no table nobody", "{way}");
        assert!(!failed.may_have_run());
    })
    .await;
    assert_eq!(done.0.load(Ordering::SeqCst), 4, "one call each way");
}

#[tokio::test]
async fn preview_of_an_untrusted_server_does_not_run() {
    let done = Tables::default();
    let server =
        || Server::new("db", "1").state(done.clone()).tools(tools![drop_table, empty_table]);
    let client = soon(common::piped(server()).into_future()).await.unwrap();
    let call = client
        .call_safely("empty_table", json!({"table": "users"}))
        .confirm(|proposal| std::future::ready(proposal.preview.is_none()));
    assert!(!soon(call.into_future()).await.unwrap().is_error());
    let shown = soon(client.preview("empty_table", &json!({"table": "users"}))).await;
    assert!(matches!(shown, Err(Error::Refused(RefusalSource::Policy))), "{shown:?}");
}

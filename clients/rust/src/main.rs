//! Runs the story of all official clients with the Rust SDK `rmcp`.
//!
//! ```text
//! candor-interop legacy|modern stdio|http PROGRAM|URL story.json
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `main` | the story, in order, and the checks that need code |
//! | `step` | one check of `story.json` |
//! | `host` | the host of the client |
//! | `../../check` | one line and one time limit per check |

#![allow(clippy::print_stdout, reason = "what it checks is what it prints")]

#[path = "../../check.rs"]
mod check;
mod host;
mod step;

use std::time::{Duration, Instant};

use rmcp::model::{
    ProtocolVersion, ServerNotification, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequestParams,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, RoleClient, RunningService,
    Subscription,
};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::time::sleep;

use check::{Checked, Mismatch, check, holds};
use host::{Change, Host};
use step::equal;

const WATCHED: &str = "test://watched-resource";

/// Several times as long as a step of the tool `wait`, so that a stray message has time to arrive.
const A_WHILE: Duration = Duration::from_millis(300);

/// The SDK gives a server three seconds to end before it kills the server.
const SOON: Duration = Duration::from_millis(1500);

/// The SDK's client, with the receivers of its host.
pub(crate) struct Client {
    sdk: RunningService<RoleClient, Host>,
    progress: UnboundedReceiver<Value>,
    changes: UnboundedReceiver<Change>,
}

impl Client {
    /// Returns the questions to the user since the last call of this function.
    fn asked(&self) -> Vec<Value> {
        std::mem::take(&mut self.sdk.service().asked.lock().expect("no holder panics"))
    }

    async fn tool_names(&self) -> Checked<Vec<String>> {
        let tools = self.sdk.list_all_tools().await?;
        Ok(tools.into_iter().map(|tool| tool.name.into_owned()).collect())
    }

    async fn text(&self, tool: &str, arguments: &Value, expected: &str) -> Checked {
        let call = serde_json::from_value(json!({"name": tool, "arguments": arguments}))?;
        let result = json!(self.sdk.call_tool(call).await?);
        equal(&result["content"], &json!([{"type": "text", "text": expected}]))
    }
}

/// One thread, so that the SDK delivers notifications in order.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [era, transport, place, file] = words.as_slice() else {
        eprintln!("Usage: candor-interop legacy|modern stdio|http PROGRAM|URL story.json");
        std::process::exit(2);
    };
    let text = std::fs::read_to_string(file).expect("the story can be read");
    let story: Value = serde_json::from_str(&text).expect("the story is JSON");

    let opened = open(&story, era, transport, place);
    let mut client = check("connects and learns who answers", opened).await;
    for chapter in story["chapters"].as_array().expect("the story has chapters") {
        match chapter.as_str() {
            Some("checks") => follow_all(&story, &mut client, era).await,
            Some("taking back") => take_back(&mut client).await,
            Some("listening") => listen(&mut client, era == "modern").await,
            _ => panic!("this client has no chapter {chapter}"),
        }
    }
    check("hangs up, and the server lets it go", async {
        let start = Instant::now();
        client.sdk.close().await.map_err(|e| Mismatch(e.to_string()))?;
        holds(start.elapsed() < SOON, "the server did not end when its input did")
    })
    .await;
}

async fn open(story: &Value, era: &str, transport: &str, place: &str) -> Checked<Client> {
    let (progress_in, progress) = mpsc::unbounded_channel();
    let (changes_in, changes) = mpsc::unbounded_channel();
    let host = Host {
        story: story.clone(),
        asked: Default::default(),
        progress: progress_in,
        changes: changes_in,
    };
    // `Auto` must detect the modern era. The revision proves that it did.
    let lifecycle = match era {
        "modern" => ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: None,
        },
        _ => ClientLifecycleMode::Initialize,
    };
    let not_connected = |e: ClientInitializeError| Mismatch(format!("it does not connect: {e}"));
    let sdk = if transport == "stdio" {
        let mut program = Command::new(place);
        program.arg("--stdio");
        let child = TokioChildProcess::new(program)
            .map_err(|e| Mismatch(format!("cannot start {place}: {e}")))?;
        host.serve_with_lifecycle(child, lifecycle).await.map_err(not_connected)?
    } else {
        let http = StreamableHttpClientTransport::from_uri(place);
        host.serve_with_lifecycle(http, lifecycle).await.map_err(not_connected)?
    };

    let server = json!(sdk.peer_info());
    let expected = &story["server"];
    let named = json!({"name": expected["name"], "version": expected["version"]});
    equal(&server["serverInfo"], &named)?;
    equal(&server["instructions"], &expected["instructions"])?;
    equal(&server["protocolVersion"], &expected["revision"][era])?;
    Ok(Client { sdk, progress, changes })
}

async fn follow_all(story: &Value, client: &mut Client, era: &str) {
    for step in story["checks"].as_array().expect("the story has checks") {
        let what = step["what"].as_str().expect("a check has a name");
        check(what, step::follow(step, client, era)).await;
    }
}

async fn take_back(client: &mut Client) {
    check("takes a call back", async {
        let call = serde_json::from_value(json!({"name": "wait", "arguments": {"steps": 600}}))?;
        // To drop the future cancels the call: the SDK notifies the server.
        tokio::select! {
            ended = client.sdk.call_tool(call) => Err(Mismatch(format!("the call ended: {ended:?}"))),
            said = client.progress.recv() => holds(said.is_some(), "the connection has ended"),
        }
    })
    .await;
    check("goes on after a call was taken back", async {
        client.text("wait", &json!({"steps": 1}), "Waited 1 steps.").await
    })
    .await;
    check("hears no more of a call that was taken back", async {
        // Earlier messages have arrived by now.
        while client.progress.try_recv().is_ok() {}
        sleep(A_WHILE).await;
        holds(client.progress.try_recv().is_err(), "it still heard of its progress")
    })
    .await;
}

/// The source of changes, which depends on the era.
enum Ear {
    Session,
    Subscription(Box<Subscription>),
}

impl Ear {
    async fn hears(&mut self, expected: &Change, client: &mut Client) -> Checked {
        let heard = self.next(client).await?;
        holds(heard == *expected, format!("expected {expected:?}\n     got {heard:?}"))
    }

    async fn next(&mut self, client: &mut Client) -> Checked<Change> {
        let Self::Subscription(subscription) = self else {
            return client.changes.recv().await.ok_or(Mismatch("the ear is closed".to_owned()));
        };
        Ok(match subscription.next().await? {
            Some(ServerNotification::ToolListChangedNotification(_)) => Change::Tools,
            Some(ServerNotification::ResourceUpdatedNotification(told)) => {
                Change::Resource(told.params.uri)
            }
            other => return Err(Mismatch(format!("heard {other:?}"))),
        })
    }
}

#[allow(deprecated, reason = "subscribing is of the legacy era, and still to be served")]
async fn listen(client: &mut Client, modern: bool) {
    let nothing = json!({});
    let tools_changed = "The list of tools has changed.";
    let resource_changed = "The watched resource has changed.";
    let has_extra = |names: &[String]| names.iter().any(|name| name == "test_extra");

    let mut ear = check("listens for changes", async {
        if modern {
            let filter = SubscriptionFilter::builder()
                .tools_list_changed()
                .resource_subscriptions([WATCHED])
                .build();
            return Ok(Ear::Subscription(Box::new(client.sdk.listen(filter).await?)));
        }
        client.sdk.subscribe(SubscribeRequestParams::new(WATCHED)).await?;
        Ok(Ear::Session)
    })
    .await;
    check("hears that there is a new tool, and calls it", async {
        holds(!has_extra(&client.tool_names().await?), "the tool is there already")?;
        client.text("test_trigger_tool_change", &nothing, tools_changed).await?;
        ear.hears(&Change::Tools, client).await?;
        holds(has_extra(&client.tool_names().await?), "the tool is not there")?;
        client.text("test_extra", &nothing, "Here I am.").await
    })
    .await;
    check("hears that the tool is gone", async {
        client.text("test_trigger_tool_change", &nothing, tools_changed).await?;
        ear.hears(&Change::Tools, client).await?;
        holds(!has_extra(&client.tool_names().await?), "the tool is still there")
    })
    .await;
    check("hears that a resource has changed", async {
        client.text("test_touch_resource", &nothing, resource_changed).await?;
        ear.hears(&Change::Resource(WATCHED.to_owned()), client).await
    })
    .await;
    check("hears nothing after it has stopped listening", async {
        match &mut ear {
            Ear::Subscription(subscription) => subscription.cancel().await?,
            Ear::Session => client.sdk.unsubscribe(UnsubscribeRequestParams::new(WATCHED)).await?,
        }
        // The SDK does not wait until the server has processed this.
        sleep(A_WHILE).await;
        client.text("test_touch_resource", &nothing, resource_changed).await?;
        sleep(A_WHILE).await;
        holds(client.changes.try_recv().is_err(), "it still heard of the resource")
    })
    .await;
}

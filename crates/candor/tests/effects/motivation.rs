//! `examples/motivation.rs`: three tools that do everything from reading to deleting, and what their calls really do.

#[path = "../../../../examples/motivation.rs"]
#[allow(dead_code)]
pub(crate) mod example;

use candor::json;
use candor::testing::TestClient;
use example::StandIn;
use serde_json::Value;

use crate::scratch::Scratch;
use crate::{adds, foreseen, hints, published, reads, worst};

/// A client of each era, each with an API of its own.
async fn clients(scratch: &Scratch) -> [(TestClient, StandIn); 2] {
    let [first, second] = [StandIn::start().await.unwrap(), StandIn::start().await.unwrap()];
    let server = |api: &StandIn| example::server(&scratch.root(), api.clone()).unwrap();
    [(server(&first).test(), first), (server(&second).test_legacy(), second)]
}

#[tokio::test]
async fn file_calls_have_their_evaluated_effects() {
    let rows = [
        ("manage_files", "action", "read", hints(true, false, true, false)),
        ("manage_files", "action", "append", hints(false, false, false, false)),
        ("manage_files", "action", "replace", hints(false, true, true, false)),
        ("manage_files", "action", "delete", hints(false, true, true, false)),
        ("filesystem", "operation", "read", hints(true, false, true, false)),
        ("filesystem", "operation", "append", hints(false, false, false, false)),
        ("filesystem", "operation", "overwrite", hints(false, true, true, false)),
        ("filesystem", "operation", "delete", hints(false, true, true, false)),
    ];
    let scratch = Scratch::new();
    for (client, _) in clients(&scratch).await {
        for (tool, argument, value, said) in &rows {
            let call = json!({argument.to_owned(): value, "path": "notes.txt", "content": "x"});
            assert_eq!(foreseen(&client, tool, call.clone()).await, *said, "{tool} {value}");
            let (set_up, look) = (|| scratch.set_up(), || scratch.look());
            let observed = client.check_effects(tool, [&call], set_up, look).await;
            assert_eq!(observed[0].seen, observed[0].foreseen, "{tool} {value}");
        }
    }
}

fn request(method: &str, path: &str) -> Value {
    json!({"method": method, "path": path, "title": "An issue"})
}

#[tokio::test]
async fn api_calls_have_their_evaluated_effects() {
    let scratch = Scratch::new();
    for (client, api) in clients(&scratch).await {
        // In this order, because the last call deletes what the others need.
        for (method, path, said) in [
            ("GET", "/repos/octocat/hello", reads()),
            ("POST", "/repos/octocat/hello/issues", adds()),
            ("DELETE", "/repos/octocat/hello", worst()),
        ] {
            let call = request(method, path);
            assert_eq!(foreseen(&client, "github_api", call.clone()).await, said, "{call}");
            let look = || api.repositories();
            let observed = client.check_effects("github_api", [&call], || (), look).await;
            let (seen, foreseen) = (observed[0].seen, observed[0].foreseen);
            assert_eq!(seen.is_read_only(), foreseen.is_read_only(), "{call}");
            assert_eq!(seen.is_destructive(), foreseen.is_destructive(), "{call}");
        }
        assert!(api.repositories().is_empty());
    }
}

/// A caller gains nothing by writing the path in another way.
#[tokio::test]
async fn path_in_another_spelling_evades_no_effect_row() {
    let scratch = Scratch::new();
    for (client, api) in clients(&scratch).await {
        for (path, said) in [
            ("/repos/octocat/hello/issues/", adds()),
            ("//repos/octocat/hello/issues", worst()),
            ("/repos/octocat/hello/x/../issues", worst()),
            ("/repos/octocat/hello/issues?x=1", worst()),
            ("/repos/octocat/hello/%69ssues", worst()),
            ("/repos/octocat/hello/issues/1", worst()),
            ("/admin", worst()),
        ] {
            let call = request("POST", path);
            assert_eq!(foreseen(&client, "github_api", call.clone()).await, said, "{path}");
            let before = api.repositories();
            client.call("github_api", call).await;
            let added = api.repositories()["octocat/hello"].starts_with(&before["octocat/hello"]);
            assert!(added, "{path}");
        }
    }
}

#[tokio::test]
async fn static_hints_are_the_worst_of_the_rows() {
    let scratch = Scratch::new();
    for (client, _) in clients(&scratch).await {
        for (tool, expected) in [
            ("manage_files", hints(false, true, false, false)),
            ("filesystem", hints(false, true, false, false)),
            ("github_api", worst()),
        ] {
            let tool = published(&client, tool).await;
            assert_eq!(tool["annotations"], expected, "{tool}");
            assert_eq!(tool["dynamicAnnotations"], true);
        }
    }
}

#[tokio::test]
async fn no_path_leads_out_of_the_folder() {
    let scratch = Scratch::new();
    for (client, _) in clients(&scratch).await {
        for operation in ["read", "append", "overwrite", "delete"] {
            let before = scratch.look();
            let call = json!({"operation": operation, "path": "../secret.txt"});
            let called = client.call("filesystem", call).await;
            assert!(
                called.is_error() && called.text().starts_with("Not allowed"),
                "{}",
                called.text()
            );
            assert_eq!(scratch.look(), before, "{operation}");
        }
    }
}

//! Resources over HTTP: what MCP says of them.

use candor_console::Console;
use candor_server::protocol::json::Object;
use candor_server::protocol::types::Resource;
use candor_server::resource::ResourceSet;
use candor_server::testing::TestClient;
use candor_server::tool::ToolError;
use serde_json::json;

use crate::site::{Events, Reply, Site, sample, server};

fn memos() -> ResourceSet {
    ResourceSet::new()
        .resource(Resource::new("memo:///today", "today"), |_, _| async { Ok("Buy milk") })
        .resource(Resource::new("memo:///a b&c=d", "odd"), |_, _| async { Ok("odd") })
        .resource(Resource::new("memo:///broken", "broken"), |_, _| async {
            Err::<&str, _>(ToolError::internal("password=hunter2"))
        })
        .resource(Resource::new("memo:///large", "large"), |_, _| async {
            Err::<&str, _>(ToolError::new("It is too large").code("too_large"))
        })
        .folder(
            Resource::new("memo:///old", "old"),
            ResourceSet::new().resource(Resource::new("memo:///old/1", "first"), |_, _| async {
                Ok("Buy bread")
            }),
        )
}

async fn get(site: &Site, path: &str) -> Reply {
    site.ask("GET", path).known().send().await
}

#[tokio::test]
async fn resource_answers_match_mcp() {
    let engine = server().resources(memos()).build().unwrap();
    let client = TestClient::of(&engine).by("operator");
    let console = Console::of(engine);
    let site = Site::around(console);
    let uri = |uri: &str| Object::new().with("uri", uri);
    for (path, method, params) in [
        ("/resources", "resources/list", Object::new()),
        ("/resources?uri=memo:///old", "resources/list", uri("memo:///old")),
        (
            "/resources/metadata?uri=memo%3A%2F%2F%2Ftoday",
            "resources/metadata",
            uri("memo:///today"),
        ),
        ("/resources/content?uri=memo:///today", "resources/read", uri("memo:///today")),
    ] {
        let mut said = client.request(method, params).await.unwrap();
        let members = said.as_object_mut().unwrap();
        members.remove("resultType");
        members.remove("_meta");
        assert_eq!(get(&site, path).await.ok(), said, "{path}");
    }
    let content = get(&site, "/resources/content?uri=memo:///today").await.ok();
    assert_eq!(content["contents"][0]["text"], "Buy milk");
    let children = get(&site, "/resources?uri=memo:///old").await.ok();
    assert_eq!(children["resources"][0]["uri"], "memo:///old/1");
}

#[tokio::test]
async fn resource_errors_map_to_http_statuses() {
    let site = Site::of(server().resources(memos()));
    for path in ["metadata", "content"] {
        let gone = get(&site, &format!("/resources/{path}?uri=memo:///nothing")).await;
        assert_eq!(gone.problem(404, "resource_not_found")["uri"], "memo:///nothing");
        get(&site, &format!("/resources/{path}")).await.problem(400, "bad_request");
        get(&site, &format!("/resources/{path}?uri=no+uri")).await.problem(400, "not_a_uri");
    }
    get(&site, "/resources?uri=memo:///nothing").await.problem(404, "resource_not_found");
    get(&site, "/resources?uri=memo:///today").await.problem(400, "not_listable");
    get(&site, "/resources?cursor=made-up").await.problem(400, "bad_request");
    let broken = get(&site, "/resources/content?uri=memo:///broken").await;
    broken.problem(500, "internal");
    assert!(!broken.body.contains("hunter2"));
    let large = get(&site, "/resources/content?uri=memo:///large").await;
    assert_eq!(large.problem(422, "too_large")["detail"], "It is too large");
    let none = Site::of(sample());
    get(&none, "/resources").await.problem(404, "not_found");
}

#[tokio::test]
async fn anonymous_caller_cannot_read_resources() {
    let site = Site::of(server().resources(memos()));
    for path in [
        "/resources",
        "/resources/metadata?uri=memo:///today",
        "/resources/content?uri=memo:///today",
    ] {
        site.get(path).await.problem(401, "unauthorized");
    }
}

#[tokio::test]
async fn resource_lists_and_metadata_have_etags() {
    let site = Site::of(server().resources(memos()));
    for path in ["/resources", "/resources/metadata?uri=memo:///today"] {
        let tag = get(&site, path).await.header("etag").to_owned();
        let again = site.ask("GET", path).known().header("if-none-match", &tag).send().await;
        assert_eq!(again.status, 304, "{path}");
    }
    let content = get(&site, "/resources/content?uri=memo:///today").await;
    assert_eq!(content.header("cache-control"), "no-store");
    assert_eq!(json!(content.header("etag")), "");
}

#[tokio::test]
async fn resource_event_stream_reports_changes_of_watched_uris() {
    let engine = server().resources(memos().watched("memo:///today")).build().unwrap();
    let changes = engine.changes().clone();
    let site = Site::around(Console::of(engine));
    let path = "/resources/events?uri=memo:///today&uri=memo:///old";
    let mut events = Events::of(site.ask("GET", path).known().open().await);
    assert_eq!(
        events.next().await.unwrap(),
        "event: watching\ndata: {\"uris\":[\"memo:///today\"]}\n\n",
        "only watched resources"
    );
    changes.resource("memo:///old");
    changes.resource("memo:///today");
    let changed = events.next().await.unwrap();
    assert_eq!(changed, "event: changed\ndata: {\"uri\":\"memo:///today\"}\n\n");
    let many = "uri=memo:///today&".repeat(101);
    let refused = site.ask("GET", &format!("/resources/events?{many}")).known().send().await;
    assert_eq!(refused.status, 400);
    let stranger = site.ask("GET", path).header("authorization", "Bearer made-up").send().await;
    assert_eq!(stranger.status, 401);
}

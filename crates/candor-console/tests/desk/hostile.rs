//! Nothing that a caller, a tool or an operator says is markup, and what cannot be seen is marked.

use std::sync::Arc;
use std::time::Duration;

use candor_console::Console;
use candor_server::auth::BearerTokens;
use candor_server::protocol::Principal;
use candor_server::protocol::names::meta;
use candor_server::testing::TestClient;
use candor_server::tool::{JsonTool, ToolError};
use candor_server::transport::http::Http;
use candor_server::{AskLevel, Server};
use serde_json::json;

use crate::desk::{memory, page, waiting};
use crate::site::{self, Site};

/// It breaks out of text, attributes and scripts, turns the writing round and hides.
const HOSTILE: &str = "</title></textarea>\"'><script>alert(1)</script><img src=x onerror=\"alert(2)\">\u{202e}\u{200b}";

/// The same for a tool, whose name must be short.
const NAME: &str = "</h2><script>alert(1)</script>\u{202e}\u{200b}";

/// And for a key, which is visible ASCII.
const KEY: &str = "\"'><script>alert(1)</script><img/src=x/onerror=\"alert(2)\">";

/// What must stand there for it: escaped, and with what cannot be seen.
#[track_caller]
fn is_harmless(html: &str) {
    site::is_harmless(html);
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "it is shown as it is: {html}");
    assert!(html.contains(">U+202E</span>") && html.contains(">U+200B</span>"), "{html}");
    // In an attribute it stands for programs; wherever people read, nothing is invisible.
    let mut read = String::new();
    for (at, part) in html.split('<').enumerate() {
        let text = if at == 0 { part } else { part.split_once('>').map_or("", |(_, text)| text) };
        read.push_str(text);
    }
    for hidden in ['\u{202e}', '\u{200b}'] {
        assert!(!read.contains(hidden), "{hidden:?} in {read}");
    }
}

fn evil() -> JsonTool {
    let schema = json!({"type": "object"});
    JsonTool::new(NAME, &schema, |_, _| async { Ok::<_, ToolError>(HOSTILE) })
        .description(HOSTILE)
        .preview(|_, _| async { Ok::<_, ToolError>(format!("{HOSTILE}\n{HOSTILE}")) })
        .define(|tool| tool.title = Some(HOSTILE.to_owned()))
}

#[tokio::test]
async fn approvals_and_history_pages_escape_hostile_text() {
    let store = memory();
    let engine = Server::new(HOSTILE, HOSTILE)
        .instance(HOSTILE)
        .ledger(Arc::clone(&store))
        .ask(AskLevel::Destructive)
        .tool(evil())
        .build()
        .unwrap();
    // The operator has such a name, too.
    let tokens = BearerTokens::default()
        .token("secret", Principal::new(HOSTILE))
        .operator(Principal::new(HOSTILE));
    let mut http = Http::default();
    http.authenticator = Some(Arc::new(tokens));
    let mut site = Site::around(Console::of(engine.clone()).reached(&http));
    site.token = "secret".to_owned();

    let arguments =
        json!({"path": format!("{HOSTILE}/x"), HOSTILE: [HOSTILE], "long": HOSTILE.repeat(9)});
    let call = |key: &str| {
        let client = TestClient::of(&engine).by(HOSTILE);
        let meta = json!({
            meta::CLIENT_INFO: {"name": HOSTILE, "version": HOSTILE},
            meta::IDEMPOTENCY_KEY: format!("{KEY}{key}"),
        });
        let params = json!({"name": NAME, "arguments": arguments, "_meta": meta});
        tokio::spawn(async move {
            let client = client.deadline(Duration::from_secs(120));
            client.request("tools/call", params).await.unwrap()
        })
    };
    let denied = call("a");
    let item = waiting(&site, 1).await.remove(0);
    let id = item["id"].as_str().unwrap().to_owned();
    for path in ["/ui/approvals", "/ui/approvals?part=desk", &format!("/ui/approvals/{id}")] {
        is_harmless(&page(&site, path).await);
    }
    is_harmless(&page(&site, "/ui/history").await);
    is_harmless(&page(&site, &format!("/ui/history/{id}")).await);
    let body = json!({"version": item["version"], "reason": HOSTILE});
    site.post(&format!("/approvals/{id}/deny"), body).await.ok();
    denied.await.unwrap();
    is_harmless(&page(&site, "/ui/history").await);
    let html = page(&site, &format!("/ui/history/{id}")).await;
    is_harmless(&html);
    assert!(html.contains("denied by "), "{html}");

    // Approved, with a grant that has such a name in its pattern.
    let approved = call("b");
    let item = waiting(&site, 1).await.remove(0);
    let id = item["id"].as_str().unwrap().to_owned();
    let permit = json!({"minutes": 5, "any": [HOSTILE]});
    let body = json!({"version": item["version"], "grant": permit});
    site.post(&format!("/approvals/{id}/approve"), body).await.ok();
    approved.await.unwrap();
    let html = page(&site, "/ui/approvals").await;
    assert!(html.contains("data-testid=\"grant\""), "{html}");
    is_harmless(&html);
    let html = page(&site, &format!("/ui/history/{id}")).await;
    assert!(html.contains("data-testid=\"result\""), "{html}");
    is_harmless(&html);
    is_harmless(&page(&site, "/ui/history").await);

    // The page repeats the filter values as text.
    let query: String = HOSTILE.bytes().map(|byte| format!("%{byte:02X}")).collect();
    for name in ["tool", "principal", "key"] {
        let html = page(&site, &format!("/ui/history?{name}={query}")).await;
        assert!(!html.contains("<img") && !html.contains("alert(1)</script>"), "{html}");
    }
    let gone = site.ask("GET", &format!("/ui/history/{query}")).header("accept", "text/html");
    let gone = gone.known().send().await;
    assert!([404, 409].contains(&gone.status.as_u16()), "{}", gone.body);
    assert!(!gone.body.contains("<img") && !gone.body.contains('\u{202e}'), "{}", gone.body);
}

//! Names are the authors' business: any is reachable, and none is taken for another.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use crate::site::{Site, named, server};

fn encoded(name: &str) -> String {
    utf8_percent_encode(name, NON_ALPHANUMERIC).to_string()
}

#[tokio::test]
async fn tool_with_any_name_is_found_and_called() {
    let names = [
        "image/resize",
        "100% sure?",
        "x/call",
        "x",
        "validate",
        "call",
        "..",
        ".",
        "a//b",
        "a/",
        "/a",
        "é ü 日本",
        "a%2Fb",
        "nfc-\u{e9}",
        "nfd-e\u{301}",
        "a+b",
        "tools",
        "UPPER",
        "upper",
        "\"'<>&",
        "x/preview/annotations",
    ];
    let site = Site::of(server().tools(names.map(named)));
    for name in names {
        let path = format!("/tools/{}", encoded(name));
        assert_eq!(site.get(&path).await.ok()["name"], name, "{path}");
        let called = site.post(&format!("{path}/call"), json!({})).await.ok();
        assert_eq!(called["content"][0]["text"], name, "{path}");
        let valid = site.post(&format!("{path}/validate"), json!({})).await;
        assert_eq!(valid.body, r#"{"valid":true}"#);
    }
    assert_eq!(site.get("/tools/image/resize").await.ok()["name"], "image/resize", "raw too");
    let raw = site.post("/tools/image/resize/call", json!({})).await.ok();
    assert_eq!(raw["content"][0]["text"], "image/resize");
    assert_eq!(site.get("/tools/image%252Fresize").await.status, 404, "decoded once");
    assert_eq!(site.get("/tools/a%252Fb").await.ok()["name"], "a%2Fb");
    assert_eq!(
        site.get("/tools/get_weather/").await.json(),
        json!({"error": "Tool not found: get_weather/"})
    );
}

#[tokio::test]
async fn verb_suffix_is_removed_once_and_only_for_post() {
    let site = Site::of(server().tools(["x", "x/call"].map(named)));
    assert_eq!(site.get("/tools/x/call").await.ok()["name"], "x/call");
    let text = async |path: &str| {
        site.post(path, json!({})).await.ok()["content"][0]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(text("/tools/x/call").await, "x");
    assert_eq!(text("/tools/x/call/call").await, "x/call");
    assert_eq!(site.get("/tools/x/validate").await.status, 404);
}

#[tokio::test]
async fn invalid_percent_encoding_is_refused() {
    let site = Site::of(server().tools(["x"].map(named)));
    for path in ["/tools/100%_sure", "/tools/%", "/tools/%ff%fe", "/tools/%4"] {
        site.get(path).await.problem(400, "bad_request");
        site.post(&format!("{path}/call"), json!({})).await.problem(400, "bad_request");
    }
}

//! What a handler of a resource may return, through the wire once each.

use candor_server::protocol::types::{ReadResourceResult, Resource, ResourceContents};
use candor_server::resource::{AsJson, AsText, IntoContents, ResourceSet};
use serde::Serialize;
use serde_json::{Value, json};

use crate::common::server;
use crate::{everywhere_knowing, knowing};

const URI: &str = "memo:///a";

/// Reads a resource whose handler returns this, in all six ways; it is always the same.
async fn read<C>(
    mime_type: Option<&str>,
    returns: impl Fn() -> C + Clone + Send + Sync + 'static,
) -> Value
where
    C: IntoContents + Send + 'static,
{
    let serving = || {
        let mut resource = Resource::new(URI, "a");
        resource.mime_type = mime_type.map(str::to_owned);
        let returns = returns.clone();
        let set = ResourceSet::new().resource(resource, move |_, _| {
            let returned = returns();
            async move { Ok(returned) }
        });
        server().resources(set)
    };
    let all = std::sync::Mutex::new(Vec::new());
    everywhere_knowing(&knowing(), serving, async |peer| {
        let result = peer.result("resources/read", &json!({"uri": URI})).await;
        all.lock().unwrap().push(result);
    })
    .await;
    let all = all.into_inner().unwrap();
    assert_eq!(all.len(), 6);
    assert!(all.iter().all(|result| *result == all[0]), "{all:?}");
    all[0].clone()
}

/// Media type, text and blob of the one content.
fn one(result: &Value) -> (&Value, &Value, &Value) {
    let contents = result["contents"].as_array().unwrap();
    assert_eq!(contents.len(), 1, "{result}");
    assert_eq!(contents[0]["uri"], URI);
    (&contents[0]["mimeType"], &contents[0]["text"], &contents[0]["blob"])
}

fn html() -> ResourceContents {
    ResourceContents::of_text(URI, "text/html", "<p>")
}

#[tokio::test(start_paused = true)]
async fn complete_read_result_is_passed_unchanged() {
    let result = read(Some("text/plain"), || {
        let mut result = ReadResourceResult::new(vec![html()]);
        result.meta = Some(candor_server::protocol::json::Object::new().with("dev.example/n", &1));
        result
    })
    .await;
    assert_eq!(one(&result), (&json!("text/html"), &json!("<p>"), &json!(null)));
    assert_eq!(result["_meta"], json!({"dev.example/n": 1}));
}

#[tokio::test(start_paused = true)]
async fn one_content_or_a_list_becomes_a_result() {
    let alone = read(None, html).await;
    assert_eq!(one(&alone), (&json!("text/html"), &json!("<p>"), &json!(null)));
    let blob = read(None, || ResourceContents::of_blob(URI, "image/png", "AA==")).await;
    assert_eq!(one(&blob), (&json!("image/png"), &json!(null), &json!("AA==")));
    let plain = || ResourceContents::of_text(URI, "text/plain", "p");
    let list = read(None, move || vec![html(), plain()]).await;
    assert_eq!(list["contents"].as_array().unwrap().len(), 2);
    assert_eq!(list["contents"][1]["mimeType"], "text/plain");
}

#[tokio::test(start_paused = true)]
async fn object_is_contents_if_its_members_match_else_json() {
    let text = read(None, || json!({"text": "hi", "mimeType": "text/x"})).await;
    assert_eq!(one(&text), (&json!("text/x"), &json!("hi"), &json!(null)));
    let blob = read(Some("image/png"), || json!({"blob": "AA=="})).await;
    assert_eq!(one(&blob), (&json!("image/png"), &json!(null), &json!("AA==")));
    let other = read(None, || json!({"debug": true})).await;
    assert_eq!(
        one(&other),
        (&json!("application/json"), &json!(r#"{"debug":true}"#), &json!(null))
    );
}

#[tokio::test(start_paused = true)]
async fn bytes_and_strings_get_default_types_unless_one_is_declared() {
    let png = || vec![0x89_u8, 0x50, 0x4e, 0x47];
    let bytes = read(None, png).await;
    assert_eq!(one(&bytes), (&json!("application/octet-stream"), &json!(null), &json!("iVBORw==")));
    assert_eq!(*one(&read(Some("image/png"), png).await).0, "image/png");
    let text = read(None, || "hi").await;
    assert_eq!(one(&text), (&json!("text/plain"), &json!("hi"), &json!(null)));
    assert_eq!(*one(&read(Some("text/markdown"), || "hi".to_owned()).await).0, "text/markdown");
}

#[derive(Serialize, Clone)]
struct Config {
    debug: bool,
    retries: u8,
}

#[tokio::test(start_paused = true)]
async fn values_are_returned_as_json_or_printed_text() {
    let config = || AsJson(Config { debug: true, retries: 3 });
    let as_json = json!(r#"{"debug":true,"retries":3}"#);
    assert_eq!(
        one(&read(None, config).await),
        (&json!("application/json"), &as_json, &json!(null))
    );
    assert_eq!(*one(&read(Some("application/x-config"), config).await).0, "application/x-config");
    let list = read(None, || json!([1, 2])).await;
    assert_eq!(one(&list), (&json!("application/json"), &json!("[1,2]"), &json!(null)));
    let printed = read(None, || AsText(std::net::Ipv4Addr::LOCALHOST)).await;
    assert_eq!(one(&printed), (&json!("text/plain"), &json!("127.0.0.1"), &json!(null)));
}

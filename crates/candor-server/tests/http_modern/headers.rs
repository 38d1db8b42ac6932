//! What a modern request says of itself, in `_meta` and in headers that must say the same.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_server::prompt::{self, Prompt};
use candor_server::tool::JsonTool;
use serde_json::{Value, json};

use crate::common::{
    CAPABILITIES_KEY, Call, MODERN, Site, VERSION_KEY, call, greet, memos, modern, server, text,
};

fn site() -> Site {
    Site::of(server().tool(greet()).resources(memos()))
}

fn greeting() -> Call {
    call("greet", &json!({"name": "Ada"}))
}

/// A message with exactly this `_meta`.
fn listing(meta: &Value) -> Call {
    let params = json!({"_meta": meta});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
    modern("tools/list", &json!({})).body(&message)
}

/// Expects a mismatch, and gives its message.
async fn mismatch(site: &Site, call: Call) -> String {
    let error = site.send(call).await.error(400, -32020).await;
    error["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn request_without_version_or_capabilities_is_refused() {
    let site = site();
    let no_params = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for (what, call) in [
        ("no params", listing(&json!({})).body(&no_params)),
        ("an empty _meta", listing(&json!({}))),
        ("no version", listing(&json!({CAPABILITIES_KEY: {}}))),
        ("no capabilities", listing(&json!({VERSION_KEY: MODERN}))),
        ("null for a version", listing(&json!({VERSION_KEY: null, CAPABILITIES_KEY: {}}))),
        (
            "capabilities that are no object",
            listing(&json!({VERSION_KEY: MODERN, CAPABILITIES_KEY: []})),
        ),
        ("a _meta that is no object", listing(&json!("2026-07-28"))),
    ] {
        let error = site.send(call).await.error(400, -32602).await;
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with("Invalid params: "), "{what}: {message}");
    }
    let complete = listing(&json!({VERSION_KEY: MODERN, CAPABILITIES_KEY: {}}));
    assert!(site.send(complete).await.result().await["tools"].is_array());
}

#[tokio::test]
async fn unsupported_revision_error_lists_the_supported_ones() {
    let site = site();
    for revision in ["1999-12-31", "2025-11-25"] {
        let call = listing(&json!({VERSION_KEY: revision, CAPABILITIES_KEY: {}}))
            .header("mcp-protocol-version", revision);
        let error = site.send(call).await.error(400, -32022).await;
        let supported = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
        assert_eq!(error["data"], json!({"supported": supported, "requested": revision}));
    }
}

#[tokio::test]
async fn header_that_contradicts_the_body_is_refused() {
    let site = site();
    for (header, lie) in [
        ("mcp-protocol-version", "2025-11-25"),
        ("mcp-method", "tools/list"),
        ("mcp-name", "delete_everything"),
    ] {
        let message = mismatch(&site, greeting().header(header, lie)).await;
        assert!(
            message.starts_with(&format!("Header mismatch: {header} value {lie:?}")),
            "{message}"
        );
    }
}

#[tokio::test]
async fn missing_or_duplicate_header_is_refused() {
    let site = site();
    for (header, value) in
        [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "greet")]
    {
        assert_eq!(
            mismatch(&site, greeting().without(header)).await,
            format!("Header mismatch: {header} is missing")
        );
        assert_eq!(
            mismatch(&site, greeting().also(header, value)).await,
            format!("Header mismatch: {header} was sent twice")
        );
    }
}

#[tokio::test]
async fn prompts_get_and_resources_read_require_mcp_name() {
    let hello = Prompt::new("hello", |_, _| async { Ok(prompt::user("Hello")) });
    let site = Site::of(server().tool(greet()).prompt(hello).resources(memos()));
    for named in [
        modern("resources/read", &json!({"uri": "memo:///today"})),
        modern("prompts/get", &json!({"name": "hello"})),
    ] {
        assert_eq!(
            mismatch(&site, named.clone().without("mcp-name")).await,
            "Header mismatch: mcp-name is missing"
        );
        mismatch(&site, named.clone().header("mcp-name", "other")).await;
        site.send(named).await.result().await;
    }
    let unnamed = modern("tools/list", &json!({}));
    site.send(unnamed).await.result().await;
}

#[tokio::test]
async fn base64_header_is_decoded_before_comparison() {
    let site = site();
    let encoded = |name: &str| format!("=?base64?{}?=", STANDARD.encode(name));
    let honest = greeting().header("mcp-name", &encoded("greet"));
    assert_eq!(text(&site.send(honest).await.result().await), "Hello, Ada!");
    let lie = greeting().header("mcp-name", &encoded("größer"));
    assert_eq!(
        mismatch(&site, lie).await,
        r#"Header mismatch: mcp-name value "größer" does not match body value "greet""#
    );
    let broken = greeting().header("mcp-name", "=?base64?Z3JlZXQ?=");
    assert_eq!(
        mismatch(&site, broken).await,
        "Header mismatch: mcp-name has invalid characters or invalid Base64"
    );
}

/// A tool whose argument `region` is mirrored in `Mcp-Param-Region`.
fn regional() -> Site {
    let schema = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
    }});
    let query = JsonTool::new("query", &schema, |_, _| async { Ok("asked") });
    Site::of(server().tool(query))
}

#[tokio::test]
async fn mirrored_argument_must_match_its_header() {
    let site = regional();
    let query = || call("query", &json!({"region": "eu"}));
    let param = "mcp-param-region";
    for (call, problem) in [
        (query(), "is missing, though the body has a value for it"),
        (query().header(param, "us"), "does not match the body"),
        (query().header(param, "eu").also(param, "eu"), "was sent twice"),
        (
            call("query", &json!({})).header(param, "eu"),
            "was sent, but the body has no value for it",
        ),
        (
            call("query", &json!({"region": null})).header(param, "eu"),
            "was sent, but the body has no value for it",
        ),
    ] {
        assert_eq!(
            mismatch(&site, call).await,
            format!("Header mismatch: Mcp-Param-region {problem}")
        );
    }
    for honest in [
        query().header(param, "eu"),
        query().header(param, "=?base64?ZXU=?="),
        call("query", &json!({})),
    ] {
        let result = site.send(honest).await.result().await;
        assert_eq!(text(&result), "asked");
    }
}

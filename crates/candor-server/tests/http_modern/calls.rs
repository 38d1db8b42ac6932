//! Calls: what is asked for, what it is given, and how it fails.

use candor_server::tool::{JsonTool, Output, ToolError};
use serde_json::{Value, json};

use crate::common::{Call, Site, call, failure, greet, memos, modern, server, text, tool};

#[tokio::test]
async fn unknown_method_is_not_found() {
    let site = Site::of(server().tool(greet()));
    let unknown = site.send(modern("tools/dance", &json!({}))).await;
    let error = unknown.error(404, -32601).await;
    assert_eq!(error["message"], "Method not found: tools/dance");
    let not_offered = site.send(modern("prompts/list", &json!({}))).await;
    not_offered.error(404, -32601).await;
}

#[tokio::test]
async fn legacy_methods_are_not_found() {
    let site = Site::of(server().tool(greet()).resources(memos()));
    for (method, params) in [
        (
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}}),
        ),
        ("ping", json!({})),
        ("logging/setLevel", json!({"level": "info"})),
        ("resources/subscribe", json!({"uri": "memo:///today"})),
        ("resources/unsubscribe", json!({"uri": "memo:///today"})),
    ] {
        let reply = site.send(modern(method, &params)).await;
        assert_eq!(reply.header("mcp-session-id"), None);
        let error = reply.error(404, -32601).await;
        assert_eq!(error["message"], format!("Method not found: {method}"));
    }
}

#[tokio::test]
async fn unknown_tool_error_names_the_tool() {
    let site = Site::of(server().tool(greet()));
    let reply = site.send(call("gret", &json!({}))).await;
    let error = reply.error(200, -32602).await;
    assert_eq!(error["message"], "Unknown tool: gret");
    assert_eq!(error["data"], json!({"tool": "gret"}));
}

#[tokio::test]
async fn invalid_arguments_result_points_at_them() {
    let schema = json!({"type": "object", "properties": {"when": {"type": "object", "properties": {
        "hour/local": {"type": "integer"},
    }}}});
    let wake = JsonTool::new("wake", &schema, |_, _| async { Ok("awake") });
    let site = Site::of(server().tool(wake));
    let reply = site.send(call("wake", &json!({"when": {"hour/local": "six"}})));
    let result = reply.await.result().await;
    assert_eq!(
        failure(&result),
        r#"Invalid arguments for wake: /when/hour~1local: expected an integer, received the string "six""#
    );
    assert_eq!(result["resultType"], "complete");
}

/// A call of `echo` with arguments as they stand in the text.
fn echo(arguments: &str) -> Call {
    let call = call("echo", &json!({}));
    call.body(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{arguments},
            "_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    ))
}

fn echoing() -> Site {
    Site::of(server().tool(tool("echo", |args, _| async move { Ok(args.to_string()) })))
}

#[tokio::test]
async fn number_that_cannot_be_held_exactly_is_refused() {
    let site = echoing();
    for number in ["18446744073709551616", "1e400", "0.12345678901234567890"] {
        let call = echo(&format!(r#"{{"deep":[{{"n":{number}}}]}}"#));
        let error = site.send(call).await.error(200, -32602).await;
        assert_eq!(
            error["message"],
            format!(
                "Invalid params: the number {number} cannot be held exactly; send 64 bits or fewer digits, or a string where one is taken"
            )
        );
    }
    for exact in [r#"{"n":18446744073709551615}"#, r#"{"n":0.1}"#, r#"{"n":"1e400"}"#] {
        let result = site.send(echo(exact)).await.result().await;
        assert_eq!(text(&result), exact);
    }
}

#[tokio::test]
async fn arguments_other_than_an_object_are_refused() {
    let site = echoing();
    for arguments in ["[]", "3", "\"{}\""] {
        let error = site.send(echo(arguments)).await.error(200, -32602).await;
        assert_eq!(error["message"], "Invalid params: arguments must be an object");
    }
}

#[tokio::test]
async fn duplicate_member_is_refused_at_any_depth() {
    let site = echoing();
    for (key, arguments) in
        [("a", r#"{"a":1,"a":1}"#), ("path", r#"{"list":[{"path":"safe","p\u0061th":"/"}]}"#)]
    {
        let error = site.send(echo(arguments)).await.refusal(400, -32700).await;
        let message = error["message"].as_str().unwrap();
        assert!(
            message.starts_with(&format!("Parse error: duplicate key {key:?} at byte ")),
            "{message}"
        );
    }
    let envelope = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}"#;
    let twice = call("echo", &json!({})).body(envelope);
    site.send(twice).await.refusal(400, -32700).await;
}

#[tokio::test]
async fn malformed_message_is_refused() {
    let site = echoing();
    let posted = |text: &str| call("echo", &json!({})).body(text);
    site.send(posted("{")).await.refusal(400, -32700).await;
    site.send(posted("")).await.refusal(400, -32700).await;
    site.send(posted("3")).await.refusal(400, -32600).await;
    let nameless = posted(r#"{"jsonrpc":"2.0","id":1,"method":7}"#);
    site.send(nameless).await.error(400, -32600).await;
}

#[tokio::test]
async fn absent_arguments_count_as_an_empty_object() {
    let site = echoing();
    let absent = modern("tools/call", &json!({"name": "echo"}));
    assert_eq!(text(&site.send(absent).await.result().await), "{}");
}

#[tokio::test]
async fn panicking_tool_fails_only_its_own_call() {
    let at_once = tool("at_once", |args, _| {
        assert!(args.is_array(), "the secret reason");
        async { Ok("unreachable") }
    });
    let later = tool("later", |args, _| async move {
        tokio::task::yield_now().await;
        assert!(args.is_array(), "the secret reason");
        Ok("unreachable")
    });
    let site = Site::of(server().tool(at_once).tool(later).tool(greet()));
    for name in ["at_once", "later"] {
        let result = site.send(call(name, &json!({}))).await.result().await;
        let told = failure(&result);
        assert!(told.ends_with("failed unexpectedly; the server's log says why."), "{told}");
        let next = site.send(call("greet", &json!({"name": "Ada"}))).await;
        assert_eq!(text(&next.result().await), "Hello, Ada!");
    }
}

#[tokio::test]
async fn tool_error_is_a_result_with_its_message() {
    let full = tool("store", |_, _| async {
        Err::<&str, _>(ToolError::new("The disk is full; delete something."))
    });
    let site = Site::of(server().tool(full));
    let result = site.send(call("store", &json!({}))).await.result().await;
    assert_eq!(failure(&result), "The disk is full; delete something.");
}

/// A tool that returns this, and promises a whole number.
fn promising(value: Value) -> Site {
    let schema = json!({"type": "integer"});
    let tool = tool("measure", move |_, _| {
        let value = value.clone();
        async move { Ok(Output::structured(value)) }
    });
    Site::of(server().tool(tool.output_schema(&schema)))
}

#[tokio::test]
async fn result_that_violates_the_output_schema_is_withheld() {
    let site = promising(json!("a secret"));
    let result = site.send(call("measure", &json!({}))).await.result().await;
    assert_eq!(result["_meta"]["dev.candor/error"]["code"], "result_invalid");
    assert_eq!(result.get("structuredContent"), None);
    assert!(!result.to_string().contains("a secret"));

    let nothing = tool("measure", |_, _| async { Ok("only words") });
    let site = Site::of(server().tool(nothing.output_schema(&json!({"type": "integer"}))));
    let result = site.send(call("measure", &json!({}))).await.result().await;
    assert_eq!(result["_meta"]["dev.candor/error"]["code"], "result_invalid");
}

#[tokio::test]
async fn result_nested_too_deep_is_not_sent() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    for (levels, sent) in [(98, true), (120, false)] {
        let deep = tool("measure", move |_, _| async move { Ok(nested(levels)) });
        let result = Site::of(server().tool(deep)).send(call("measure", &json!({}))).await;
        let result = result.result().await;
        assert_eq!(result.get("structuredContent").is_some(), sent, "{levels}");
        assert_eq!(result.get("isError").is_none(), sent, "{levels}");
    }
}

#[tokio::test]
async fn structured_content_may_be_any_value() {
    let site = promising(json!(42));
    let result = site.send(call("measure", &json!({}))).await.result().await;
    assert_eq!(result["structuredContent"], 42);
    assert_eq!(text(&result), "42");
    assert_eq!(result.get("isError"), None);
}

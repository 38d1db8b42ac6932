//! Requests as clients of other embedded explorers make them, one by one, with what we answer.

use serde_json::json;

use crate::site::{Site, named, sample};

#[tokio::test]
async fn recorded_requests_get_the_expected_statuses() {
    let names = ["image/resize", "wetter für morgen", "100%_sure?"];
    let site = Site::of(sample().tools(names.map(named)));
    let not_found = |name: &str| json!({"error": format!("Tool not found: {name}")});
    // method, path, status, the body if it matters, and what the original did
    for (method, path, status, body, original) in [
        ("GET", "/tools", 200, None, "no ETag, no headers for browsers"),
        ("GET", "/tools/", 200, None, "the detail of a tool without a name, or 404"),
        ("HEAD", "/tools", 200, None, "the same"),
        ("HEAD", "/tools/get_weather", 200, None, "the same"),
        ("OPTIONS", "/tools", 204, None, "405, text/plain"),
        ("POST", "/tools", 405, None, "text/plain"),
        ("DELETE", "/tools/get_weather", 405, None, "text/plain"),
        ("GET", "/tools/unknown_tool", 404, Some(not_found("unknown_tool")), "the same"),
        ("GET", "/tools/get_weather/", 404, Some(not_found("get_weather/")), "the same"),
        ("GET", "/tools/image/resize", 200, None, "the same; in Rust 404 with no body"),
        ("GET", "/tools/image%2Fresize", 200, None, "the same"),
        ("GET", "/tools/image%252Fresize", 404, Some(not_found("image%2Fresize")), "the same"),
        ("GET", "/tools/wetter%20f%C3%BCr%20morgen", 200, None, "the same"),
        ("GET", "/tools/100%25_sure%3F", 200, None, "the same"),
        ("GET", "/tools/100%_sure", 400, None, "taken literally, 404; in TypeScript 500"),
        ("GET", "/tools/%FF%FE", 400, None, "404 with replacement characters"),
        ("GET", "/tools/%00", 404, Some(not_found("\u{0}")), "the same"),
        ("GET", "/tools/wetter%20fu%CC%88r%20morgen", 404, None, "the same: NFD is not NFC"),
        ("GET", "/tools/Get_Weather", 404, Some(not_found("Get_Weather")), "the same"),
        ("GET", "/tools/get_weather/call", 404, Some(not_found("get_weather/call")), "the same"),
        (
            "GET",
            "/tools/get_weather/validate",
            404,
            Some(not_found("get_weather/validate")),
            "the same",
        ),
        ("GET", "/meta", 404, None, "text/plain"),
        ("GET", "/nothing", 404, None, "text/plain"),
    ] {
        let reply = site.ask(method, path).send().await;
        assert_eq!(reply.status.as_u16(), status, "{method} {path} (there: {original})");
        if let Some(body) = body {
            assert_eq!(reply.json(), body, "{path}");
        }
        if !reply.body.is_empty() {
            assert!(reply.header("content-type").ends_with("json"), "{method} {path}");
        }
        assert_eq!(reply.header("x-content-type-options"), "nosniff");
    }
    let call = |kind: &str, body: &'static str| {
        site.ask("POST", "/tools/get_weather/call").known().text(kind, body)
    };
    let json = "application/json";
    for (ask, status, original) in [
        (call(json, "{"), 400, "the tool ran with {}"),
        (call(json, ""), 400, "the tool ran with {}"),
        (call(json, "[1,2]"), 400, "the tool got a list"),
        (call(json, "{}"), 422, "what is required was not asked for"),
        (call("text/plain", r#"{"city":"Oslo"}"#), 415, "the tool ran: any page could do that"),
        (
            call(json, r#"{"city":"Oslo"}"#).header("origin", "https://evil.test"),
            403,
            "the tool ran",
        ),
        (call(json, r#"{"city":"Oslo"}"#), 200, "the same"),
    ] {
        let reply = ask.send().await;
        assert_eq!(reply.status.as_u16(), status, "{} (there: {original})", reply.body);
    }
}

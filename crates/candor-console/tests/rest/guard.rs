//! Who is let in: hosts, origins, tokens, cookies; and what every answer says to browsers.

use std::sync::Arc;

use candor_server::auth::BearerTokens;
use candor_server::transport::http::Http;
use serde_json::json;

use crate::site::{Reply, Site, seed};

#[tokio::test]
async fn hosts_that_are_not_ours_are_refused_before_anything_else() {
    let site = Site::of(seed());
    let ask = |path: &str, host: &str| site.ask("GET", path).host(host).send();
    for path in ["/tools", "/tools/get_weather", "/nothing", "/tools/%", "/"] {
        for host in
            ["evil.test", "evil.test:7332", "127.0.0.1.evil.test", "localhost.evil.test", ""]
        {
            assert_eq!(ask(path, host).await.status, 403, "{host} {path}");
        }
    }
    for host in ["127.0.0.1", "localhost:1", "[::1]:7332"] {
        assert_eq!(ask("/tools", host).await.status, 200, "{host}");
    }
}

#[tokio::test]
async fn pages_of_other_origins_get_nothing_unless_they_are_allowed() {
    let site = Site::of(seed());
    for origin in ["https://evil.test", "http://127.0.0.1:1", "null", "http://localhost:7332"] {
        let ask = site.ask("POST", "/tools/get_weather/call").known().header("origin", origin);
        let reply = ask.json(&json!({"city": "Oslo"})).send().await;
        reply.problem(403, "forbidden_origin");
        let asked = site.ask("OPTIONS", "/tools").header("origin", origin).send().await;
        assert_eq!((asked.status.as_u16(), asked.header("access-control-allow-origin")), (403, ""));
    }
    let own = site.ask("GET", "/tools").header("origin", "http://127.0.0.1:7332").send().await;
    own.ok();

    let site = Site::with(seed(), |console| console.allow_execute().origin("https://friend.test"));
    let asked = site
        .ask("OPTIONS", "/tools/get_weather/call")
        .header("origin", "https://friend.test")
        .header("access-control-request-method", "POST")
        .send()
        .await;
    assert_eq!(asked.status, 204);
    assert_eq!(asked.header("access-control-allow-origin"), "https://friend.test");
    assert!(asked.header("access-control-allow-methods").contains("POST"));
    assert!(asked.header("access-control-allow-headers").contains("Idempotency-Key"));
    assert_eq!(asked.header("access-control-allow-credentials"), "", "cookies are not for them");
    let called = site.ask("POST", "/tools/get_weather/call").known();
    let called = called.header("origin", "https://friend.test").json(&json!({"city": "Oslo"}));
    let called = called.send().await;
    called.ok();
    assert_eq!(called.header("access-control-allow-origin"), "https://friend.test");
    assert!(called.header("vary").contains("Origin"));
    let other = site.ask("GET", "/tools").header("origin", "https://friend.test.evil.test");
    other.send().await.problem(403, "forbidden_origin");
}

#[tokio::test]
async fn every_answer_keeps_browsers_from_harm() {
    let site = Site::of(seed());
    let replies: Vec<Reply> = vec![
        site.get("/tools").await,
        site.get("/tools/nothing").await,
        site.get("/nothing").await,
        site.get("/tools/%").await,
        site.ask("DELETE", "/tools").send().await,
        site.ask("OPTIONS", "/tools").send().await,
        site.post("/tools/get_weather/call", json!({"city": "Oslo"})).await,
        site.post("/tools/get_weather/call", json!({})).await,
        site.get("/approvals").await,
    ];
    for reply in replies {
        assert_eq!(reply.header("x-content-type-options"), "nosniff", "{reply:?}");
        assert!(reply.header("content-security-policy").starts_with("default-src 'none'"));
        assert_eq!(reply.header("referrer-policy"), "same-origin");
        let kept =
            if reply.headers.contains_key("etag") { "private, no-cache" } else { "no-store" };
        assert_eq!(reply.header("cache-control"), kept, "{reply:?}");
    }
}

/// Logs in, and gives the cookie and what the page's changes must bring.
async fn log_in(site: &Site) -> String {
    let reply = site.ask("POST", "/ui/session").json(&json!({"token": site.token})).send().await;
    assert_eq!(reply.status, 204, "{}", reply.body);
    let cookie = reply.header("set-cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    cookie.split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_cookie_alone_reads_but_changes_nothing() {
    let site = Site::of(seed());
    let cookie = log_in(&site).await;
    let arguments = json!({"city": "Oslo"});
    let call = || site.ask("POST", "/tools/get_weather/call").header("cookie", &cookie);
    call().json(&arguments).send().await.problem(403, "csrf");
    let wrong = call().header("x-candor-csrf", "guessed").json(&arguments).send().await;
    wrong.problem(403, "csrf");
    // What any site can make a browser post.
    let form = call().text("text/plain", arguments.to_string()).send().await;
    form.problem(403, "csrf");
    let read = site.ask("GET", "/tools").header("cookie", &cookie).send().await;
    read.ok();
    let other = site.ask("POST", "/tools/get_weather/call").header("cookie", "candor_7332=made-up");
    other.json(&arguments).send().await.problem(401, "unauthorized");
    // The cookie of a server on another port is another cookie.
    let value = cookie.split_once('=').unwrap().1;
    let other =
        site.ask("POST", "/tools/get_weather/call").header("cookie", &format!("candor_1={value}"));
    other.json(&arguments).send().await.problem(401, "unauthorized");
}

#[tokio::test]
async fn where_callers_must_be_known_they_must_be_known_for_everything() {
    let tokens = BearerTokens::from_lines(&BearerTokens::line("alice", "secret")).unwrap();
    let mut http = Http::default();
    http.authenticator = Some(Arc::new(tokens));
    let site = Site::with(seed(), |console| console.allow_execute().reached(&http));
    for path in ["/tools", "/tools/get_weather", "/tools/nothing", "/openapi.json"] {
        let reply = site.get(path).await;
        reply.problem(401, "unauthorized");
        assert!(!reply.body.contains("not found"));
        let alice = site.ask("GET", path).header("authorization", "Bearer secret").send().await;
        assert_ne!(alice.status, 401, "{path}");
        let wrong = site.ask("GET", path).header("authorization", "Bearer wrong").send().await;
        wrong.problem(401, "unauthorized");
    }
    let validated = site.ask("POST", "/tools/get_weather/validate").json(&json!({})).send().await;
    validated.problem(401, "unauthorized");
    let called =
        site.ask("POST", "/tools/get_weather/call").header("authorization", "Bearer secret");
    called.json(&json!({"city": "Oslo"})).send().await.ok();
    let approvals = site.ask("GET", "/approvals").header("authorization", "Bearer secret");
    approvals.send().await.problem(403, "not_an_operator");
}

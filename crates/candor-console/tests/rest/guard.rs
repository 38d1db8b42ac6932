//! Who is let in: hosts, origins, tokens, cookies; and what every answer says to browsers.

use std::sync::Arc;

use candor_server::auth::BearerTokens;
use candor_server::protocol::types::Resource;
use candor_server::resource::ResourceSet;
use candor_server::tool::ToolError;
use candor_server::transport::http::Http;
use serde_json::json;

use crate::log::Log;
use crate::site::{Reply, Site, sample};

#[tokio::test]
async fn foreign_host_is_refused_before_anything_else() {
    let site = Site::of(sample());
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
async fn foreign_origin_is_refused_unless_allowed() {
    let site = Site::of(sample());
    for origin in ["https://evil.test", "http://127.0.0.1:1", "null", "http://localhost:7332"] {
        let ask = site.ask("POST", "/tools/get_weather/call").known().header("origin", origin);
        let reply = ask.json(&json!({"city": "Oslo"})).send().await;
        reply.problem(403, "forbidden_origin");
        let asked = site.ask("OPTIONS", "/tools").header("origin", origin).send().await;
        assert_eq!((asked.status.as_u16(), asked.header("access-control-allow-origin")), (403, ""));
    }
    let own = site.ask("GET", "/tools").header("origin", "http://127.0.0.1:7332").send().await;
    own.ok();

    let site =
        Site::with(sample(), |console| console.allow_execute().origin("https://friend.test"));
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
    assert_eq!(asked.header("access-control-allow-credentials"), "", "no cookies for others");
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
async fn every_answer_has_security_headers() {
    let site = Site::of(sample());
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
        let policy = reply.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        // No script can turn text into markup or code, not even with its own policy.
        assert!(policy.ends_with("require-trusted-types-for 'script'; trusted-types 'none'"));
        assert_eq!(reply.header("referrer-policy"), "same-origin");
        let kept =
            if reply.headers.contains_key("etag") { "private, no-cache" } else { "no-store" };
        assert_eq!(reply.header("cache-control"), kept, "{reply:?}");
    }
}

/// Logs in, and gives the cookie and what all that is done must bring besides.
async fn log_in(site: &Site) -> (String, String) {
    let reply = site.ask("POST", "/ui/session").json(&json!({"token": site.token})).send().await;
    let said = reply.ok();
    let cookie = reply.header("set-cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert_eq!((&said["principal"], &said["operator"]), (&json!("operator"), &json!(true)));
    (cookie.split(';').next().unwrap().to_owned(), said["proof"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn cookie_without_the_login_proof_only_reads() {
    let site = Site::of(sample());
    let (cookie, proof) = log_in(&site).await;
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
    // Only the proof of the same login counts.
    let (_, others) = log_in(&site).await;
    let foreign = call().header("x-candor-csrf", &others).json(&arguments).send().await;
    foreign.problem(403, "csrf");
    call().header("x-candor-csrf", &proof).json(&arguments).send().await.ok();
    let other = site.ask("POST", "/tools/get_weather/call").header("cookie", "candor_7332=made-up");
    other.json(&arguments).send().await.problem(401, "unauthorized");
    // A server on another port has another cookie.
    let value = cookie.split_once('=').unwrap().1;
    let other =
        site.ask("POST", "/tools/get_weather/call").header("cookie", &format!("candor_1={value}"));
    other.json(&arguments).send().await.problem(401, "unauthorized");
}

/// Browsers send a cookie to every port of a host. A program that gets it that way can read pages as its owner, but finds no
/// proof there.
#[tokio::test]
async fn login_proof_appears_in_no_page_or_header() {
    let memos = ResourceSet::new()
        .resource(Resource::new("memo:///today", "today"), |_, _| async {
            Ok::<_, ToolError>("milk")
        });
    let site = Site::of(sample().resources(memos));
    let (cookie, proof) = log_in(&site).await;
    let get = |path: &str| {
        site.ask("GET", path).header("cookie", &cookie).header("accept", "text/html, */*").send()
    };
    for path in [
        "/",
        "/ui/tools/get_weather",
        "/ui/approvals",
        "/ui/history",
        "/ui/resources",
        "/ui/server",
        "/ui/nothing",
        "/tools",
        "/approvals",
        "/history",
        "/openapi.json",
        "/ui/assets/console.js",
    ] {
        let reply = get(path).await;
        assert!(!reply.body.is_empty() && !reply.body.contains(&proof), "{path}");
        for (name, value) in &reply.headers {
            assert!(!value.to_str().unwrap().contains(&proof), "{path} {name}");
            assert_ne!(name, "set-cookie", "{path}: no page starts a session");
        }
    }
    // The cookie alone reads no resources. Events name only the requested URIs.
    let read = |path: &str| site.ask("GET", path).header("cookie", &cookie);
    for path in [
        "/resources",
        "/resources/metadata?uri=memo:///today",
        "/resources/content?uri=memo:///today",
    ] {
        read(path).send().await.problem(403, "csrf");
        read(path).header("x-candor-csrf", &proof).send().await.ok();
        assert_ne!(site.ask("HEAD", path).header("cookie", &cookie).send().await.status, 200);
    }
}

/// Without the proof, a user can still log in and log out. A login by form allows only reads.
#[tokio::test]
async fn cookie_without_the_proof_does_not_block_login_or_logout() {
    let site = Site::of(sample());
    let (cookie, _) = log_in(&site).await;
    let body = json!({"token": site.token});
    let again = site.ask("POST", "/ui/session").header("cookie", &cookie).json(&body).send().await;
    again.ok();
    let form = site.ask("POST", "/ui/session").header("cookie", &cookie);
    let form = form.text("application/x-www-form-urlencoded", format!("token={}", site.token));
    let form = form.send().await;
    assert_eq!((form.status.as_u16(), form.header("location")), (303, "/"));
    assert!(form.body.is_empty(), "{}", form.body);
    let looks = form.header("set-cookie").split(';').next().unwrap().to_owned();
    let history = site.ask("GET", "/ui/history").header("cookie", &looks);
    assert_eq!(history.header("accept", "text/html").send().await.status, 200);
    let gone = site.ask("DELETE", "/ui/session").header("cookie", &cookie).send().await;
    assert_eq!(gone.status, 204);
    let history = site.ask("GET", "/history").header("cookie", &cookie).send().await;
    history.problem(401, "unauthorized");
}

/// Operators see refused tokens in the log, also at login. The log has no tokens.
#[tokio::test]
async fn refused_token_is_logged_as_a_warning() {
    let tokens = BearerTokens::from_lines(&BearerTokens::line("alice", "secret")).unwrap();
    let mut http = Http::default();
    http.authenticator = Some(Arc::new(tokens));
    let closed = Site::with(sample(), |console| console.reached(&http));
    let log = Log::capture();
    for site in [&closed, &Site::of(sample())] {
        let log_in = |token: &str| site.ask("POST", "/ui/session").json(&json!({"token": token}));
        site.ask("GET", "/tools").header("authorization", "Bearer guessed").send().await;
        log_in("guessed").send().await.problem(401, "unauthorized");
        log_in("guessed\n").send().await.problem(401, "unauthorized");
        log_in(&site.token).send().await.ok();
        let warning = |path| format!("WARN message=a token was refused path={path}");
        assert_eq!(log.take(), ["/tools", "/ui/session", "/ui/session"].map(warning));
    }
}

#[tokio::test]
async fn console_with_required_tokens_refuses_anonymous_requests() {
    let tokens = BearerTokens::from_lines(&BearerTokens::line("alice", "secret")).unwrap();
    let mut http = Http::default();
    http.authenticator = Some(Arc::new(tokens));
    let site = Site::with(sample(), |console| console.allow_execute().reached(&http));
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

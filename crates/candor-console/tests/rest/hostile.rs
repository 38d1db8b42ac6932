//! Input that is meant to break something.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use candor_server::tool::{JsonTool, ToolError};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::site::{Reply, Site, server};

fn site() -> Site {
    let tool = JsonTool::open("t", |_, _| async { Ok::<_, ToolError>("ran") });
    let typed = JsonTool::new(
        "typed",
        &json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
        |_, _| async { Ok::<_, ToolError>("ran") },
    );
    Site::of(server().tool(tool).tool(typed).limits(|limits| limits.message_bytes = 64 * 1024))
}

async fn post(site: &Site, path: &str, body: impl Into<Body>) -> Reply {
    site.ask("POST", path).known().text("application/json", body).send().await
}

const VERBS: [&str; 3] = ["validate", "annotations", "call"];

#[tokio::test]
async fn ambiguous_json_body_is_refused_by_every_verb() {
    let site = site();
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    for body in [
        r#"{"a":1,"a":2}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"{"a":"\ud800"}"#,
        r#"{"a":01}"#,
        r#"{"a":NaN}"#,
        r#"{"a":1e999}"#,
        r#"{"a":123456789012345678901234567890}"#,
        r#"{'a':1}"#,
        r#"{"a":1,}"#,
        "// no\n{}",
        "\u{feff}{}",
        "{\"a\":\"\u{0}\"}",
        deep.as_str(),
    ] {
        for verb in VERBS {
            let reply = post(&site, &format!("/tools/t/{verb}"), body.to_owned()).await;
            reply.problem(400, "bad_request");
        }
    }
}

#[tokio::test]
async fn oversized_body_is_refused() {
    let site = site();
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(70_000));
    for verb in VERBS {
        let reply = post(&site, &format!("/tools/t/{verb}"), large.clone()).await;
        reply.problem(413, "too_large");
    }
    // A body needs no length.
    let chunks = futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b' '; 1024]));
    post(&site, "/tools/t/call", Body::from_stream(chunks)).await.problem(413, "too_large");
}

#[tokio::test]
async fn truncated_body_is_reported() {
    let site = site();
    let address = site.address().await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "POST /tools/t/call HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n1\r\n{{\r\nno length\r\n",
        site.token
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 400 "), "{reply}");
    assert!(reply.contains("The body broke off"), "{reply}");
}

/// A body in pieces of 32 KiB that does not say how many there will be; and how many were taken. It ends after `pieces`, or never.
fn in_pieces(pieces: Option<usize>) -> (Body, Arc<AtomicUsize>) {
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = taken.clone();
    let stream = futures_util::stream::unfold(0, move |at| {
        let counted = counted.clone();
        async move {
            match pieces {
                Some(pieces) if at == pieces => return None,
                None if at == 4 => std::future::pending::<()>().await,
                _ => {}
            }
            counted.fetch_add(1, Ordering::SeqCst);
            Some((Ok::<_, std::io::Error>(vec![b' '; 32 * 1024]), at + 1))
        }
    });
    (Body::from_stream(stream), taken)
}

#[tokio::test]
async fn large_body_waits_for_capacity() {
    let tool = JsonTool::open("t", |_, _| async { Ok::<_, ToolError>("ran") });
    let site = Site::of(server().tool(tool).limits(|limits| {
        limits.message_bytes = 1024 * 1024;
        limits.body_bytes = 1024 * 1024;
        limits.body_time = Duration::from_secs(3600);
    }));
    let ((unfinished, held), (waits, taken)) = (in_pieces(None), in_pieces(Some(8)));
    let post = |path: &str, body| {
        site.ask("POST", path).known().text("application/json", body).hand_over()
    };
    let mut unfinished = Box::pin(post("/tools/t/call", unfinished));
    assert!(futures_util::poll!(&mut unfinished).is_pending());
    assert_eq!(held.load(Ordering::SeqCst), 4, "the server reads every piece that arrives");
    let mut waits = Box::pin(post("/tools/t/call", waits));
    for _ in 0..10 {
        assert!(futures_util::poll!(&mut waits).is_pending());
        tokio::task::yield_now().await;
    }
    assert_eq!(
        taken.load(Ordering::SeqCst),
        3,
        "the pieces of a small body, and the one that makes it large"
    );
    site.post("/tools/t/call", json!({})).await.ok();
    // A login is anonymous, so it gets no capacity for a large body.
    let (login, taken_of_login) = in_pieces(Some(8));
    post("/ui/session", login).await.problem(413, "too_large");
    assert_eq!(taken_of_login.load(Ordering::SeqCst), 3);
    drop(unfinished);
    waits.await.problem(400, "bad_request");
    assert_eq!(taken.load(Ordering::SeqCst), 8);
}

#[tokio::test]
async fn value_of_a_wrong_type_is_named_by_its_pointer() {
    let site = site();
    for value in [json!("1"), json!(1.5), json!(null), json!([]), json!({}), json!(true)] {
        let said = site.post("/tools/typed/validate", json!({"n": value})).await.ok();
        assert_eq!((&said["valid"], &said["errors"][0]["path"]), (&json!(false), &json!("/n")));
        let said = site.post("/tools/typed/call", json!({"n": value})).await;
        assert_eq!(said.problem(422, "invalid_arguments")["errors"][0]["pointer"], "/n");
    }
    site.post("/tools/typed/call", json!({"n": 1.0})).await.ok();
}

#[tokio::test]
async fn malformed_queries_and_headers_cause_no_server_error() {
    let site = site();
    for query in
        ["?limit=%", "?limit=%FF", "?cursor=%00", "?limit=1&limit=2&&==", "?%FF=%FF", "?=", "?"]
    {
        let reply = site.get(&format!("/tools{query}")).await;
        assert!(reply.status == 200 || reply.status == 400, "{query}: {}", reply.body);
    }
    for (name, value) in [
        ("if-none-match", "\u{7f}garbage,,W/"),
        ("accept", ";;;,,q=x"),
        ("authorization", "Bearer"),
        ("authorization", "Basic eDp5"),
        ("cookie", "=;;;=candor_7332"),
        ("traceparent", "00-00000000000000000000000000000000-0-0"),
    ] {
        let Ok(value) = http::HeaderValue::from_str(value) else { continue };
        let reply =
            site.ask("GET", "/tools").header(name, value.to_str().unwrap_or("x")).send().await;
        assert_eq!(reply.status, 200, "{name}: {}", reply.body);
    }
    let uri = format!("/tools/{}", "a".repeat(30_000));
    assert_eq!(site.get(&uri).await.status, 404);
}

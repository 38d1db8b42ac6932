//! Who may decide, and look: operators. A cookie alone is not enough to change anything.

use std::sync::Arc;

use candor_console::Console;
use candor_server::auth::BearerTokens;
use candor_server::protocol::Principal;
use candor_server::transport::http::Http;
use serde_json::json;

use crate::desk::{Desk, note, text};
use crate::site::Reply;

/// Everything that is for operators; what changes something comes with its body.
fn paths(id: &str) -> Vec<(&'static str, String)> {
    let mut all = vec![];
    for path in
        ["/approvals", "/approvals/events", "/approvals/grants", "/history", "/history/export"]
    {
        all.push(("GET", path.to_owned()));
    }
    for path in ["/ui/approvals", "/ui/approvals?part=desk", "/ui/history"] {
        all.push(("GET", path.to_owned()));
    }
    for path in ["/approvals", "/history", "/ui/approvals", "/ui/history"] {
        all.push(("GET", format!("{path}/{id}")));
    }
    all.push(("POST", format!("/approvals/{id}/approve")));
    all.push(("POST", format!("/approvals/{id}/deny")));
    all.push(("POST", format!("/history/{id}/resolve")));
    all.push(("DELETE", format!("/approvals/grants/{id}")));
    all
}

fn closed() -> Desk {
    let tokens = BearerTokens::default()
        .token("secret of ada", Principal::new("ada"))
        .token("secret of olga", Principal::new("olga"))
        .operator(Principal::new("olga"));
    let mut http = Http::default();
    http.authenticator = Some(Arc::new(tokens));
    Desk::with(|server| server, |console| console.allow_execute().reached(&http))
}

#[tokio::test]
async fn only_operators_can_see_or_review_requests() {
    for (desk, callers) in [(Desk::new(), None), (closed(), Some("Bearer secret of ada"))] {
        let call = desk.call(note("hidden path"));
        let waiting = desk.one().await;
        let body = waiting.named();
        let check = |reply: &Reply, status: u16, word: &str| {
            reply.problem(status, word);
            assert!(!reply.body.contains("hidden path"), "{}", reply.body);
        };
        // Also for unknown ids, so that other users do not learn which ones exist.
        for id in [waiting.id.as_str(), "0123456789ab"] {
            for (method, path) in paths(id) {
                let stranger = desk.site.ask(method, &path).json(&body).send().await;
                check(&stranger, 401, "unauthorized");
                let wrong = desk.site.ask(method, &path).header("authorization", "Bearer wrong");
                check(&wrong.json(&body).send().await, 401, "unauthorized");
                if let Some(token) = callers {
                    let known = desk.site.ask(method, &path).header("authorization", token);
                    check(&known.json(&body).send().await, 403, "not_an_operator");
                }
            }
        }
        assert_eq!(desk.one().await.question, waiting.question);
        assert_eq!(desk.ran(), 0);
        call.abort();
    }
}

#[tokio::test]
async fn operator_with_a_token_reviews_under_its_own_name() {
    let desk = closed();
    let call = desk.call(note("a"));
    let waiting = desk.one().await;
    let olga = || "Bearer secret of olga";
    let list = desk.site.ask("GET", "/approvals").header("authorization", olga()).send().await.ok();
    assert_eq!(list[0]["version"], waiting.question);
    let path = format!("/approvals/{}/approve", waiting.id);
    let ask = desk.site.ask("POST", &path).header("authorization", olga());
    assert_eq!(ask.json(&waiting.named()).send().await.ok()["by"], "olga");
    assert_eq!(text(&call.await.unwrap()), "Deleted a");
    let story = format!("/history/{}", waiting.id);
    let story = desk.site.ask("GET", &story).header("authorization", olga()).send().await.ok();
    let decided = story["timeline"].as_array().unwrap().iter().find(|row| row["event"] == "decide");
    let decided = decided.unwrap();
    assert_eq!((&decided["by"], &decided["note"]), (&json!("olga"), &json!("console")));
    assert_eq!(decided["via"], "operator");
}

#[tokio::test]
async fn cookie_without_the_login_proof_decides_nothing() {
    let desk = Desk::with(|server| server, Console::allow_execute);
    let call = desk.call(note("a"));
    let waiting = desk.one().await;
    let login = desk.site.ask("POST", "/ui/session").json(&json!({"token": desk.site.token}));
    let login = login.send().await;
    let proof = login.ok()["proof"].as_str().unwrap().to_owned();
    let cookie = login.header("set-cookie").split(';').next().unwrap().to_owned();
    let with_cookie =
        |method: &str, path: &str| desk.site.ask(method, path).header("cookie", &cookie);
    // The cookie alone allows reads.
    with_cookie("GET", "/approvals").send().await.ok();
    let changes = paths(&waiting.id).into_iter().filter(|(method, _)| *method != "GET");
    for (method, path) in changes {
        let body = waiting.named();
        with_cookie(method, &path).json(&body).send().await.problem(403, "csrf");
        let guessed = with_cookie(method, &path).header("x-candor-csrf", "guessed");
        guessed.json(&body).send().await.problem(403, "csrf");
        // What the form of any page can send.
        let form = with_cookie(method, &path).text("text/plain", body.to_string());
        form.send().await.problem(403, "csrf");
    }
    assert_eq!(desk.one().await.question, waiting.question);
    assert_eq!(desk.ran(), 0);
    // The page has the version, but not the proof.
    let page = with_cookie("GET", "/ui/approvals").header("accept", "text/html").send().await;
    assert!(page.body.contains(&waiting.question) && !page.body.contains(&proof));
    let path = format!("/approvals/{}/approve", waiting.id);
    let ask = with_cookie("POST", &path).header("x-candor-csrf", &proof).json(&waiting.named());
    ask.send().await.ok();
    assert_eq!(text(&call.await.unwrap()), "Deleted a");
}

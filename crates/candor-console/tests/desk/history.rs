//! What happened: listed, filtered, page by page, one by one, and all of it.

use std::collections::HashSet;

use candor_server::Server;
use candor_server::tool::{JsonTool, ToolError};
use serde_json::{Value, json};

use crate::desk::{Desk, note, page};
use crate::site::{Site, server};

/// A tool that does as it is told.
fn obedient(name: &str) -> JsonTool {
    let schema = json!({"type": "object", "properties": {"fail": {"type": "boolean"}}});
    JsonTool::new(name, &schema, |arguments, _| async move {
        match arguments["fail"].as_bool() {
            Some(true) => Err(ToolError::new("It did not work")),
            _ => Ok("worked"),
        }
    })
}

fn with_tools(server: Server) -> Site {
    Site::of(server.tool(obedient("pay")).tool(obedient("mail")))
}

/// A console with five payments that were done, one that failed, and a mail without a key.
async fn eventful() -> Site {
    let site = with_tools(server());
    for n in 1..=6 {
        let key = format!("order-{n}");
        let ask = site.ask("POST", "/tools/pay/call").known().header("idempotency-key", &key);
        ask.json(&json!({"fail": n == 6})).send().await.ok();
    }
    site.post("/tools/mail/call", json!({})).await.ok();
    site
}

async fn history(site: &Site, query: &str) -> Value {
    site.ask("GET", &format!("/history{query}")).known().send().await.ok()
}

fn keys(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["key"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn operations_are_listed_latest_first() {
    let site = eventful().await;
    let all = history(&site, "").await;
    assert_eq!(keys(&all), ["order-6", "order-5", "order-4", "order-3", "order-2", "order-1"]);
    assert_eq!(all["next"], Value::Null);
    let last = &all["items"][0];
    assert_eq!((&last["state"], &last["outcome"]), (&json!("failed"), &json!("failed")));
    assert_eq!((&last["tool"], &last["principal"]), (&json!("pay"), &json!("operator")));
}

#[tokio::test]
async fn history_pages_have_no_gaps_or_repeats() {
    let site = eventful().await;
    for calls in ["", "&rows=true"] {
        let whole = history(&site, &format!("?limit=500{calls}")).await;
        let whole = whole["items"].as_array().unwrap().clone();
        for limit in [1, 2, 4] {
            let mut all = Vec::new();
            let mut cursor = String::new();
            loop {
                let part = history(&site, &format!("?limit={limit}{cursor}{calls}")).await;
                let items = part["items"].as_array().unwrap();
                assert!(items.len() <= limit, "{part}");
                all.extend(items.clone());
                let Some(next) = part["next"].as_u64() else { break };
                cursor = format!("&cursor={next}");
                assert!(all.len() <= whole.len(), "the pages end");
            }
            assert_eq!(all, whole, "{limit} at a time");
        }
    }
    assert_eq!(keys(&history(&site, "?limit=0").await).len(), 1, "at least one");
    assert_eq!(keys(&history(&site, "?limit=18446744073709551615").await).len(), 6);
    let html = page(&site, "/ui/history?limit=2&tool=pay").await;
    let (_, older) = html.split_once("rel=\"next\" href=\"").unwrap();
    let older = older.split('"').next().unwrap().replace("&amp;", "&");
    assert!(older.starts_with("?tool=pay&cursor="), "{older}");
    page(&site, &format!("/ui/history{older}")).await;
}

#[tokio::test]
async fn history_filters_return_only_matching_entries() {
    let site = eventful().await;
    for (query, many) in [
        ("?tool=pay", 6),
        ("?tool=mail", 0), // it had no key, so no operation
        ("?tool=pa", 0),
        ("?principal=operator", 6),
        ("?principal=ada", 0),
        ("?key=order-3", 1),
        ("?key=order", 0),
        ("?state=succeeded", 5),
        ("?state=failed", 1),
        ("?state=completed", 6),
        ("?state=outcome_unknown", 0),
        ("?since=1h", 6),
        ("?before=1h", 0),
        ("?since=2999-01-01", 0),
        ("?before=2999-01-01T00:00:00Z", 6),
        ("?tool=pay&state=failed&key=order-6", 1),
        ("?tool=pay&state=failed&key=order-5", 0),
        // As an empty field of the page sends it.
        ("?tool=&principal=&key=&state=&since=", 6),
        // Rows include calls without a key.
        ("?rows=true&tool=mail", 1),
        ("?rows=true&key=order-3&state=succeeded", 1),
        ("?rows=true&tool=nothing", 0),
    ] {
        assert_eq!(history(&site, query).await["items"].as_array().unwrap().len(), many, "{query}");
        page(&site, &format!("/ui/history{query}")).await;
    }
    let html = page(&site, "/ui/history?tool=nothing").await;
    assert!(html.contains("Nothing matches") && html.contains("value=\"nothing\""), "{html}");
}

#[tokio::test]
async fn page_has_at_most_the_documented_number_of_items() {
    let site = with_tools(server());
    let document = site.get("/openapi.json").await.ok();
    let parameters = document["paths"]["/history"]["get"]["parameters"].as_array().unwrap();
    let limit = parameters.iter().find(|parameter| parameter["name"] == "limit").unwrap();
    let most = limit["schema"]["maximum"].as_u64().unwrap();
    for _ in 0..=most {
        let call = site.ask("POST", "/tools/mail/call").known().json(&json!({}));
        call.hand_over().await.ok();
    }
    let paged = history(&site, &format!("?rows=true&limit={most}")).await;
    assert_eq!(paged["items"].as_array().unwrap().len() as u64, most);
    assert!(paged["next"].is_u64(), "there is one more");
}

#[tokio::test]
async fn invalid_history_filter_is_refused() {
    let site = eventful().await;
    for query in [
        "state=nope",
        "state=DONE",
        "since=yesterday",
        "since=2026-02-30",
        "before=-1h",
        "limit=many",
        "limit=-1",
        "limit=1.5",
        "cursor=abc",
        "cursor=-1",
    ] {
        let name = query.split('=').next().unwrap();
        for path in ["/history", "/history/export"] {
            if path == "/history/export" && ["limit", "cursor"].contains(&name) {
                continue; // it has no pages
            }
            let reply = site.ask("GET", &format!("{path}?{query}")).known().send().await;
            let said = reply.problem(400, "bad_request");
            assert!(said["detail"].as_str().unwrap().contains(&format!("`{name}`")), "{said}");
        }
        let html = site.ask("GET", &format!("/ui/history?{query}")).header("accept", "text/html");
        let html = html.known().send().await;
        assert_eq!(html.status, 400, "{query}");
        let (_, mistaken) = html.body.split_once("data-testid=\"mistaken\">").unwrap();
        assert!(mistaken.starts_with(&format!("`{name}`")), "{mistaken}");
    }
}

#[tokio::test]
async fn page_of_an_invalid_filter_keeps_its_fields() {
    let site = eventful().await;
    let path = "/ui/history?tool=pay&state=failed&since=yesterday";
    let html = site.ask("GET", path).header("accept", "text/html").known().send().await;
    assert_eq!(html.status, 400);
    for kept in ["value=\"pay\"", "value=\"yesterday\"", " selected>Failed</option>"] {
        assert!(html.body.contains(kept), "{kept} in {}", html.body);
    }
    assert!(!html.body.contains("/history/export"), "it would export everything: {}", html.body);
    let good = page(&site, "/ui/history?tool=pay&state=failed").await;
    assert!(good.contains("/history/export?tool=pay&amp;state=failed&amp;"), "{good}");
}

#[tokio::test]
async fn history_rows_are_audit_rows() {
    let site = eventful().await;
    let rows = history(&site, "?rows=true&key=order-1").await;
    let events: Vec<_> = rows["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["event"].as_str().unwrap())
        .collect();
    assert_eq!(events, ["complete", "start"]);
    let mail = history(&site, "?rows=true&tool=mail").await;
    assert_eq!(mail["items"][0]["id"], Value::Null);
    assert_eq!(mail["items"][0]["event"], "called");
    // Anything but `true` is the list of operations.
    assert_eq!(keys(&history(&site, "?rows=false").await).len(), 6);
}

#[tokio::test]
async fn operation_is_found_by_its_key_or_id_prefix() {
    let site = eventful().await;
    let by_key = history(&site, "/order-3").await;
    let id = by_key["id"].as_str().unwrap().to_owned();
    assert_eq!(by_key["result"]["content"][0]["text"], "worked");
    assert_eq!(by_key["timeline"].as_array().unwrap().len(), 2);
    for digits in [64, 12, 8] {
        assert_eq!(history(&site, &format!("/{}", &id[..digits])).await, by_key);
    }
    for name in ["order-9", "0000", "%2e%2e", "order"] {
        let path = format!("/history/{name}");
        site.ask("GET", &path).known().send().await.problem(404, "not_found");
        let html = site.ask("GET", &format!("/ui{path}")).header("accept", "text/html").known();
        assert_eq!(html.send().await.status, 404);
    }
    let html = page(&site, "/ui/history/order-3").await;
    let kept = "names, types and lengths";
    for part in ["data-state=\"done\"", "order-3", "worked", "Open the tool", &id, kept] {
        assert!(html.contains(part), "{part} in {html}");
    }
    assert!(!html.contains("data-testid=\"resolve\""), "the outcome is known");
}

#[tokio::test]
async fn history_page_links_to_every_call() {
    let site = eventful().await;
    let html = page(&site, "/ui/history").await;
    assert_eq!(html.matches("data-testid=\"call\"").count(), 7, "{html}");
    assert_eq!(html.matches("<tr data-state=\"failed\"").count(), 1);
    for link in html.split("<a data-item href=\"").skip(1) {
        page(&site, link.split('"').next().unwrap()).await;
    }
    let empty = page(&with_tools(server()), "/ui/history").await;
    assert!(empty.contains("Nothing has happened yet") && empty.contains("Try a tool"), "{empty}");
}

#[tokio::test]
async fn history_export_contains_every_row_as_json_lines() {
    let site = eventful().await;
    let export = |query: &str| {
        let path = format!("/history/export{query}");
        let site = &site;
        async move {
            let reply = site.ask("GET", &path).known().send().await;
            assert_eq!(reply.status, 200, "{}", reply.body);
            assert_eq!(reply.header("content-type"), "application/jsonl");
            assert!(reply.header("content-disposition").starts_with("attachment;"));
            assert!(reply.body.is_empty() || reply.body.ends_with('\n'));
            let read = |line| serde_json::from_str(line).unwrap();
            reply.body.lines().map(read).collect::<Vec<Value>>()
        }
    };
    let all = export("").await;
    let mut listed =
        history(&site, "?rows=true&limit=500").await["items"].as_array().unwrap().clone();
    listed.reverse();
    assert_eq!(all, listed, "the earliest first, and all of it");
    assert_eq!(all.len(), 13);
    let seqs: HashSet<u64> = all.iter().map(|row| row["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs.len(), 13);
    let of_pay = export("?tool=pay&state=failed").await;
    assert_eq!(of_pay.len(), 1, "{of_pay:?}");
    assert_eq!((&of_pay[0]["key"], &of_pay[0]["event"]), (&json!("order-6"), &json!("complete")));
    assert_eq!(export("?tool=nothing").await, [Value::Null; 0]);
}

/// One operation over REST, and its page.
async fn both(site: &Site, id: &str) -> (Value, String) {
    let rest = site.ask("GET", &format!("/history/{id}")).known().send().await.ok();
    (rest, page(site, &format!("/ui/history/{id}")).await)
}

#[tokio::test]
async fn review_and_arguments_of_a_denied_call_are_shown() {
    let desk = Desk::impatient();
    desk.call(note("a<b")).await.unwrap();
    let waiting = desk.one().await;
    let body = json!({"version": waiting.question, "reason": "not <i>today</i>"});
    desk.deny(&waiting.id, body).await.ok();
    let (rest, html) = both(&desk.site, &waiting.id).await;
    let review = &rest["review"];
    assert_eq!((&review["decision"], &review["via"]), (&json!("denied"), &json!("operator")));
    assert_eq!(
        (&review["by"], &review["reason"]),
        (&json!("operator"), &json!("not <i>today</i>"))
    );
    assert_eq!(rest["arguments"], note("a<b"));
    for part in ["denied by operator", "not &lt;i&gt;today", "data-testid=\"arguments\"", "a&lt;b"]
    {
        assert!(html.contains(part), "{part} in {html}");
    }
    assert!(html.contains("data-testid=\"state\" data-state=\"refused\""), "{html}");
}

#[tokio::test]
async fn error_of_a_released_key_is_shown() {
    let tool = JsonTool::open("book", |_, _| async {
        Err::<String, _>(ToolError::new("The <seat> is taken").code("conflict").not_started())
    });
    let site = Site::of(server().tool(tool));
    let ask = site.ask("POST", "/tools/book/call").known().header("idempotency-key", "seat-7");
    ask.json(&json!({})).send().await.ok();
    let (rest, html) = both(&site, "seat-7").await;
    assert_eq!((&rest["state"], &rest["outcome"]), (&json!("failed"), &json!("failed")), "{rest}");
    let error = json!({"code": "conflict", "message": "The <seat> is taken"});
    assert_eq!(rest["error"], error, "{rest}");
    assert!(html.contains("data-state=\"failed\"") && html.contains("conflict"), "{html}");
    assert!(html.contains("The &lt;seat&gt; is taken"), "{html}");
    assert_eq!(keys(&history(&site, "?state=failed").await), ["seat-7"]);
    assert_eq!(keys(&history(&site, "?state=not_run").await), [""; 0]);
}

//! The pages of tools, resources and the server, as a browser gets them: whole without a script, and never taken over by what a
//! tool says of itself.

#![allow(missing_docs)]

#[allow(dead_code)]
#[path = "rest/site.rs"]
mod site;

use candor_server::Server;
use candor_server::hints::{Condition, EffectRow, EffectTable, Hints};
use candor_server::tool::{Idempotency, JsonTool, ToolError};
use serde_json::{Value, json};

use site::{Site, delete_record, is_harmless, sample, server, weather};

async fn page(site: &Site, path: &str) -> String {
    let reply = site.ask("GET", path).header("accept", "text/html").known().send().await;
    assert_eq!(reply.status, 200, "{path}: {}", reply.body);
    assert_eq!(reply.header("content-type"), "text/html; charset=utf-8");
    reply.body
}

/// What stands in the thing with this `data-testid`, up to its end or the first tag in it.
#[track_caller]
fn at<'a>(html: &'a str, id: &str) -> &'a str {
    let (_, thing) =
        html.split_once(&format!("data-testid=\"{id}\"")).unwrap_or_else(|| panic!("no {id}"));
    let (_, inside) = thing.split_once('>').unwrap();
    inside.split('<').next().unwrap()
}

fn tool(name: &str, schema: &Value) -> JsonTool {
    JsonTool::new(name, schema, |_, _| async { Ok::<_, ToolError>("") })
}

#[tokio::test]
async fn tool_list_shows_one_effect_per_tool() {
    let html = page(&Site::of(sample()), "/").await;
    assert_eq!(html.matches("data-testid=\"tool\"").count(), 2);
    assert!(html.contains("<li data-verdict=\"reads\""), "{html}");
    assert!(html.contains("href=\"/ui/tools/get_weather\""), "{html}");
    let (_, deletes) = html.split_once("<li data-verdict=\"unclassified\"").unwrap();
    assert!(deletes.contains("<b>delete_record</b>"), "nothing is declared");
    is_harmless(&html);
}

/// Beside the effect, a line says whether a call is safe to retry, and whether it is external.
#[tokio::test]
async fn tool_list_shows_retry_safety_and_reach() {
    let schema = json!({"type": "object"});
    let rows = [
        ("looks", Hints::new(true, false, true, true), "safe to retry · external"),
        ("keeps", Hints::new(false, true, true, false), "safe to retry · local"),
        ("sends", Hints::new(false, false, false, true), "not safe to retry · external"),
        ("notes", Hints::new(false, false, false, false), "not safe to retry · local"),
    ];
    let of = |(name, hints, _): &(&str, Hints, &str)| tool(name, &schema).hints(*hints);
    let server = rows.iter().map(of).fold(server(), Server::tool);
    let html = page(&Site::of(server), "/").await;
    for (name, _, says) in rows {
        let (_, line) = html.split_once(&format!("<b>{name}</b>")).unwrap();
        let line = line.split("</li>").next().unwrap();
        assert!(line.contains(&format!("<span class=\"besides\">{says}</span>")), "{line}");
    }
}

#[tokio::test]
async fn page_without_tools_explains_the_next_step() {
    let html = page(&Site::of(server()), "/").await;
    assert!(html.contains("data-testid=\"no-tools\"") && html.contains(".tools("), "{html}");
    let html = page(&Site::of(server()), "/ui/resources").await;
    assert!(html.contains("data-testid=\"no-resources\"") && html.contains(".resources("));
}

#[tokio::test]
async fn tools_with_a_common_prefix_are_grouped() {
    let schema = json!({"type": "object"});
    let names = ["mail/read", "other", "mail/send", "git_log", "git_add"];
    let all = names.map(|name| std::sync::Arc::new(tool(name, &schema)) as _);
    let html = page(&Site::of(server().tools(all.to_vec())), "/").await;
    let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text} in {html}"));
    assert!(at(">mail</h2>") < at("<b>mail/read") && at("<b>mail/read") < at("<b>mail/send"));
    assert!(at("<b>mail/send") < at(">others</h2>") && at(">others</h2>") < at("<b>git_log"));
    assert!(!html.contains(">git</h2>"), "two of an underscore are no group");
}

#[tokio::test]
async fn preview_is_listed_after_its_tool() {
    let schema = json!({"type": "object"});
    let previewed =
        |name: &str| tool(name, &schema).preview(|_, _| async { Ok::<_, ToolError>("") });
    let all = ["move", "copy", "drop"].map(|name| std::sync::Arc::new(previewed(name)) as _);
    let html = page(&Site::of(server().tools(all.to_vec())), "/").await;
    let names: Vec<&str> =
        html.split("<b>").skip(1).map(|rest| rest.split('<').next().unwrap()).collect();
    assert_eq!(names, ["move", "preview_move", "copy", "preview_copy", "drop", "preview_drop"]);
    assert!(!html.contains("class=\"group"), "{html}");
}

/// A preview may have a preview of its own, and a tool may name itself: all of them are listed, each once.
#[tokio::test]
async fn tool_list_shows_every_tool_once_despite_preview_chains() {
    let schema = json!({"type": "object"});
    let reads = |name: &str| tool(name, &schema).hints(Hints::READS);
    let all = [
        tool("move", &schema).previewed_by("look"),
        reads("look").previewed_by("glance"),
        reads("glance"),
        reads("peek").previewed_by("peek"),
    ];
    let server = all.into_iter().fold(server(), Server::tool);
    let html = page(&Site::of(server), "/").await;
    let names: Vec<&str> =
        html.split("<b>").skip(1).map(|rest| rest.split('<').next().unwrap()).collect();
    assert_eq!(names, ["move", "look", "glance", "peek"]);
}

#[tokio::test]
async fn tool_page_shows_arguments_result_and_effect() {
    let schema = json!({"type": "object", "required": ["action"], "properties": {
        "action": {"enum": ["read", "delete"], "description": "What to do"},
        "times": {"type": "integer", "minimum": 1, "default": 2}}});
    let is = |value: &str| EffectRow::when("/action", Condition::OneOf(vec![value.into()]));
    let table = EffectTable::new()
        .row(is("read").then(Hints::READS))
        .row(is("delete").then(Hints::DELETES))
        .exhaustive();
    let gives = json!({"type": "object", "properties": {"id": {"type": "string", "description": "Its name"}}});
    let tool = tool("manage", &schema).output_schema(&gives).effects(table).undo("manage");
    let html = page(&Site::of(server().tool(tool)), "/ui/tools/manage").await;
    for part in [
        "manage(action: &quot;read&quot; | &quot;delete&quot;, times?: integer = 2) → {id}",
        "depends on the arguments",
        "data-testid=\"effects\"",
        "data-testid=\"undo-tool\"",
        "placeholder=\"default: 2\"",
        "<option value=\"&quot;delete&quot;\">delete</option>",
        "<span class=\"limit\">at least 1</span>",
        "Its name",
        "data-hint=\"openWorldHint\"",
        "data-testid=\"key\"",
        "data-testid=\"call\"",
        "&quot;action&quot;: null",
        "<summary>Schema</summary><pre tabindex=\"0\">{\n  &quot;",
        "<th scope=\"col\">Source</th>",
    ] {
        assert!(html.contains(part), "{part} in {html}");
    }
    // Both schemas, unchanged.
    let shown: Vec<Value> = html
        .split("<summary>Schema</summary><pre tabindex=\"0\">")
        .skip(1)
        .map(|rest| rest.split("</pre>").next().unwrap().replace("&quot;", "\""))
        .map(|text| serde_json::from_str(&text).unwrap())
        .collect();
    assert_eq!(shown, [schema, gives]);
    assert!(!html.contains("data-testid=\"preview\""), "the tool has no preview");
    is_harmless(&html);
}

/// What is only assumed must not read like a declaration, neither in the list nor on the tool's page.
#[tokio::test]
async fn unclassified_tool_is_never_shown_as_deleting() {
    let site = Site::of(server().tool(tool("any", &json!({"type": "object"})).unclassified()));
    for path in ["/", "/ui/tools/any"] {
        let html = page(&site, path).await;
        assert!(html.contains(">Unclassified</span>"), "{html}");
        assert!(html.contains("treated as the worst case"), "{html}");
        assert!(html.contains("data-verdict=\"unclassified\""), "{html}");
        assert!(!html.contains(">Deletes</span>"), "{html}");
    }
}

/// Exactly the required members with their defaults, even `false`, and no nested ones.
#[tokio::test]
async fn json_prefill_has_exactly_the_required_members() {
    let place = json!({"type": "object", "required": ["city"], "properties": {"city": {"default": "Oslo"}}});
    let properties = json!({
        "name": {"type": "string"},
        "sure": {"type": "boolean", "default": false},
        "times": {"type": "integer", "default": 2},
        "place": place,
    });
    let some =
        json!({"type": "object", "required": ["name", "sure", "place"], "properties": properties});
    let none = json!({"type": "object", "properties": properties});
    let site = Site::of(server().tool(tool("some", &some)).tool(tool("none", &none)));
    for (tool, begins) in
        [("some", json!({"name": null, "sure": false, "place": null})), ("none", json!({}))]
    {
        let html = page(&site, &format!("/ui/tools/{tool}")).await;
        let (_, raw) = html.split_once("<textarea id=\"raw\"").unwrap();
        let (_, raw) = raw.split_once('>').unwrap();
        let raw = raw.split("</textarea>").next().unwrap().replace("&quot;", "\"");
        assert_eq!(serde_json::from_str::<Value>(&raw).unwrap(), begins, "{tool}: {raw}");
    }
}

#[tokio::test]
async fn tool_page_asks_for_a_key_argument_only_once() {
    let schema = json!({"type": "object", "properties": {}});
    let tool = tool("pay", &schema).idempotency(Idempotency::Required);
    let html = page(&Site::of(server().tool(tool)), "/ui/tools/pay").await;
    assert!(!html.contains("data-testid=\"key\""));
    let (_, field) = html.split_once("data-name=\"idempotency_key\"").unwrap();
    assert!(field.split("</div>").next().unwrap().contains("data-form=\"uuid\""), "{field}");
}

#[tokio::test]
async fn tool_page_without_call_permission_offers_validation() {
    let closed = Site::with(sample(), |console| console);
    let html = page(&closed, "/ui/tools/get_weather").await;
    assert!(html.contains("Calling is switched off") && html.contains("data-testid=\"validate\""));
    assert!(!html.contains("data-testid=\"call\""));
    let open = Site::of(sample());
    let unknown =
        open.ask("GET", "/ui/tools/get_weather").header("accept", "text/html").send().await;
    assert!(unknown.body.contains("log in with the token"), "{}", unknown.body);
    assert!(unknown.body.contains("data-testid=\"validate\""));
    assert!(!unknown.body.contains("data-testid=\"call\""));
}

#[tokio::test]
async fn login_page_explains_the_token_and_its_refusal() {
    let site = Site::of(sample());
    let page = site.ask("GET", "/ui/history").header("accept", "text/html").send().await;
    assert_eq!(page.status, 401);
    for part in ["<h1>Log in</h1>", "the server printed when it started", "required autofocus"] {
        assert!(page.body.contains(part), "{part} in {}", page.body);
    }
    assert!(!page.body.contains("Authorization"), "that is for programs: {}", page.body);
    // Without a script, the form shows the same message.
    let form = site.ask("POST", "/ui/session").header("accept", "text/html");
    let form = form.text("application/x-www-form-urlencoded", "token=wrong").send().await;
    assert_eq!((form.status.as_u16(), form.header("set-cookie")), (401, ""));
    assert!(form.body.contains("This token is not known here. Open the link"), "{}", form.body);
    assert!(form.body.contains("data-testid=\"login\""), "{}", form.body);
}

#[tokio::test]
async fn texts_of_a_hostile_tool_are_never_markup() {
    let hostile =
        "</title></textarea><script>alert(1)</script><img src=x onerror=\"alert(2)\">\u{202e}";
    let schema = json!({"type": "object", "required": [hostile], "properties": {
        hostile: {"type": "string", "description": hostile, "default": hostile, "pattern": hostile},
        "choice": {"enum": [hostile, "b"], "default": hostile},
        "shape": {"oneOf": [{"title": hostile, "type": "integer"}, {"title": "x", "type": "boolean"}]},
        "nested": {"type": "object", "properties": {hostile: {"type": "array", "items": {"const": hostile}}}}},
        hostile: hostile});
    let evil = tool(hostile, &schema).description(hostile).output_schema(&schema).define(|tool| {
        tool.title = Some(hostile.to_owned());
    });
    let server = Server::new(hostile, hostile).instructions(hostile).tool(evil);
    let site = Site::with(server, |console| console.allow_execute().title(hostile));
    let list = page(&site, "/").await;
    let link =
        list.split("data-testid=\"tool\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(link.starts_with("/ui/tools/%3C%2Ftitle%3E"), "{link}");
    for path in ["/", link, "/ui/server", "/ui/resources"] {
        let html = page(&site, path).await;
        is_harmless(&html);
        assert!(
            html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"),
            "it is shown as text: {html}"
        );
    }
    assert!(list.contains(">U+202E</span>"), "the direction override is visible");
}

#[tokio::test]
async fn tool_page_falls_back_to_json_for_a_huge_schema() {
    let many: serde_json::Map<String, Value> =
        (0..3000).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
    let site = Site::of(
        server()
            .tool(tool("huge", &json!({"type": "object", "properties": many})))
            .tool(tool("odd", &json!({"type": "object", "properties": {"x": {"$ref": "#/properties/x"}, "y": {"type": "array", "items": {"$ref": "#"}}}}))),
    );
    let html = page(&site, "/ui/tools/huge").await;
    assert!(html.contains("data-offered=\"false\"") && html.contains("id=\"raw\""));
    let html = page(&site, "/ui/tools/odd").await;
    assert!(html.contains("data-offered=\"true\""));
}

#[tokio::test]
async fn every_tool_name_has_a_page() {
    let names = ["a/b", "..", "100% sure?", "é ü", "x/call"];
    let schema = json!({"type": "object"});
    let all = names.map(|name| std::sync::Arc::new(tool(name, &schema)) as _);
    let site = Site::of(server().tools(all.to_vec()));
    let list = page(&site, "/").await;
    for link in list.split("data-testid=\"tool\" href=\"").skip(1) {
        let link = link.split('"').next().unwrap();
        assert!(page(&site, link).await.contains("data-testid=\"bench\""), "{link}");
    }
    let gone = site.ask("GET", "/ui/tools/gone").header("accept", "text/html").known().send().await;
    assert_eq!(gone.status, 404);
    assert!(gone.body.contains("Back to the beginning"), "{}", gone.body);
    assert!(gone.body.contains("<p class=\"who\">operator</p>"), "{}", gone.body);
    // A request for a foreign host learns nothing about the user.
    let other = site.ask("GET", "/").host("evil.test").header("accept", "text/html").known();
    let other = other.send().await;
    assert!(other.status == 403 && !other.body.contains("operator</p>"), "{}", other.body);
}

#[tokio::test]
async fn server_page_shows_host_configs_and_hides_operator_details() {
    let site = Site::of(sample().instructions("Be kind"));
    let html = page(&site, "/ui/server").await;
    assert_eq!(at(&html, "instructions"), "Be kind");
    assert_eq!(at(&html, "health"), "Healthy");
    assert_eq!(at(&html, "asks"), "No call needs approval");
    let revisions: Vec<&str> = at(&html, "revisions").split(" · ").collect();
    assert!(
        revisions.contains(&"2026-07-28") && revisions.contains(&"2025-11-25"),
        "{revisions:?}"
    );
    let url = "http://127.0.0.1:7332/mcp";
    assert_eq!(at(&html, "for-claude"), format!("claude mcp add --transport http test {url}"));
    let pasted = |id: &str| -> Value {
        serde_json::from_str(&at(&html, id).replace("&quot;", "\"")).unwrap()
    };
    let test = json!({"test": {"type": "http", "url": url}});
    assert_eq!(pasted("for-servers"), json!({"mcpServers": test}));
    assert_eq!(pasted("for-vscode"), json!({"servers": test}));
    let extensions = pasted("capabilities")["extensions"].clone();
    assert!(extensions["dev.candor/idempotency"].is_object(), "{extensions}");
    assert!(at(&html, "sessions").starts_with("No client has an open session"));
    assert!(html.contains("in memory"), "where the ledger is");
    let stranger = site.ask("GET", "/ui/server").header("accept", "text/html").send().await;
    assert_eq!(stranger.status, 200);
    assert!(!stranger.body.contains("in memory"), "where the ledger is");
    assert_eq!(at(&stranger.body, "ledger"), "open");
    assert_eq!(at(&stranger.body, "sessions"), "Only operators see who is connected.");
}

#[tokio::test]
async fn pages_of_a_nested_console_link_to_each_other() {
    let site = Site::of(sample()).nested("/x");
    let home = page(&site, "/x").await;
    let mut links: Vec<&str> =
        home.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    links.retain(|link| !link.starts_with('#'));
    assert!(links.len() > 6, "{links:?}");
    for link in links {
        assert!(link.starts_with("/x"), "{link}");
        let reply = site.ask("GET", link).header("accept", "text/html").known().send().await;
        assert_eq!(reply.status, 200, "{link}");
    }
    // The browser sends the cookie to the first page too.
    let body = json!({"token": site.token});
    let reply = site.ask("POST", "/x/ui/session").json(&body).send().await;
    assert!(reply.header("set-cookie").contains("; Path=/x;"), "{}", reply.header("set-cookie"));
}

#[tokio::test]
async fn home_page_stays_below_its_size_limit() {
    let schema = json!({"type": "object", "required": ["id"], "properties": {
        "id": {"type": "string", "description": "An id that another tool has given"},
        "limit": {"type": "integer", "description": "At most so many of them", "default": 50}}});
    let mut server = server().tool(weather()).tool(delete_record());
    for n in 0..13 {
        let about = "Does something that takes a sentence or two to be told, as tools do. It can be taken back.";
        server = server.tool(tool(&format!("tool_number_{n}"), &schema).description(about));
    }
    let site = Site::of(server);
    let home = page(&site, "/").await;
    let mut whole = home.len();
    let assets = home.split("/ui/assets/").skip(1).filter_map(|rest| rest.split('"').next());
    for asset in assets {
        whole += site.get(&format!("/ui/assets/{asset}")).await.body.len();
    }
    assert!(whole < 60_000, "{whole} bytes");
}

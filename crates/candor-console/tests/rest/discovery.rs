//! `GET /tools` and `GET /tools/{name}`: shapes, to the letter.

use candor_server::protocol::Principal;
use candor_server::protocol::json::{Decode as _, raw};
use candor_server::protocol::types::{Tool as Definition, ToolAnnotations};
use candor_server::tool::{JsonTool, Tool, ToolError, ToolSet, provider_fn};
use candor_server::transport::http::Http;
use serde_json::json;
use std::sync::Arc;

use crate::room;
use crate::site::{Site, delete_record, named, sample, server, weather};

#[tokio::test]
async fn tool_list_has_exactly_the_published_shape() {
    let site = Site::of(sample());
    let said = json!([
        {
            "name": "get_weather",
            "description": "Fetch current weather for a city.",
            "annotations": {"readOnlyHint": true, "openWorldHint": true}
        },
        {"name": "delete_record", "description": "Delete a record by ID."}
    ]);
    for path in ["/tools", "/tools/"] {
        let reply = site.get(path).await;
        assert_eq!(reply.ok(), said);
        assert_eq!(reply.body, said.to_string(), "also in the order of members");
    }
}

#[tokio::test]
async fn tool_detail_has_exactly_the_published_shape() {
    let site = Site::of(sample());
    let reply = site.get("/tools/get_weather").await;
    let said = json!({
        "name": "get_weather",
        "description": "Fetch current weather for a city.",
        "annotations": {"readOnlyHint": true, "openWorldHint": true},
        "inputSchema": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "City name"}},
            "required": ["city"]
        }
    });
    assert_eq!(reply.ok(), said);
    assert_eq!(reply.body, said.to_string(), "also in the order of members");
    let other = site.get("/tools/delete_record").await.ok();
    assert!(other.get("annotations").is_none() && other["inputSchema"].is_object());
}

#[tokio::test]
async fn unknown_tool_error_has_exactly_the_published_text() {
    let site = Site::of(sample());
    let reply = site.get("/tools/unknown_tool").await;
    assert_eq!(reply.status, 404);
    assert_eq!(reply.header("content-type"), "application/json");
    assert_eq!(reply.body, r#"{"error":"Tool not found: unknown_tool"}"#);
    let decoded = site.get("/tools/%3Cb%3E%22%00%2F").await;
    assert_eq!(decoded.json(), json!({"error": "Tool not found: <b>\"\u{0}/"}));
    for verb in ["validate", "annotations", "preview", "call"] {
        let posted = site.post(&format!("/tools/unknown_tool/{verb}"), json!({})).await;
        assert_eq!((posted.status.as_u16(), posted.body), (404, reply.body.clone()), "{verb}");
    }
}

#[tokio::test]
async fn unset_hints_are_omitted_from_the_list() {
    let with = |name: &str, change: fn(&mut ToolAnnotations)| {
        let mut hints = ToolAnnotations::new();
        change(&mut hints);
        let tool = JsonTool::open(name, |_, _| async { Ok::<_, ToolError>("") }).annotations(hints);
        Arc::new(tool) as Arc<dyn Tool>
    };
    let site = Site::of(server().tools([
        with("empty", |_| {}),
        with("titled", |hints| hints.title = Some("T".to_owned())),
        with("safe", |hints| {
            hints.read_only_hint = Some(false);
            hints.destructive_hint = Some(false);
        }),
    ]));
    let listed = site.get("/tools").await;
    assert!(!listed.body.contains("null"), "{}", listed.body);
    let listed = listed.ok();
    assert_eq!(listed[0], json!({"name": "empty", "description": ""}));
    assert_eq!(listed[1]["annotations"], json!({"title": "T"}));
    assert_eq!(listed[2]["annotations"], json!({"readOnlyHint": false, "destructiveHint": false}));
}

#[tokio::test]
async fn tool_detail_has_schemas_but_the_list_has_none() {
    let tool = JsonTool::new(
        "count",
        &json!({"type": "object", "properties": {"n": {"const": 1.50, "maximum": 1e2}}}),
        |_, _| async { Ok::<_, ToolError>(candor_server::tool::Output::text("1")) },
    )
    .output_schema(&json!({"type": "object"}))
    .define(|definition| definition.title = Some("Counts".to_owned()));
    let site = Site::of(server().tool(tool));
    let detail = site.get("/tools/count").await.ok();
    assert_eq!(detail["title"], "Counts");
    assert_eq!(detail["outputSchema"], json!({"type": "object"}));
    let members: Vec<&String> = detail.as_object().unwrap().keys().collect();
    assert_eq!(members, ["name", "description", "title", "inputSchema", "outputSchema"]);
    let listed = site.get("/tools").await.ok();
    assert_eq!(listed, json!([{"name": "count", "description": "", "title": "Counts"}]));
}

/// Both from one socket, and for each caller.
#[tokio::test]
async fn tool_list_matches_mcp_for_every_caller() {
    let count = JsonTool::open("count", |_, _| async { Ok::<_, ToolError>(json!({"n": 1})) })
        .output_schema(&json!({"type": "object"}))
        .define(|definition| definition.title = Some("Counts".to_owned()));
    let few: Vec<Arc<dyn Tool>> = vec![Arc::new(weather()), Arc::new(delete_record())];
    let mut all = few.clone();
    all.extend([Arc::new(crate::foreseen::manage()) as Arc<dyn Tool>, Arc::new(count)]);
    let [few, all] = [few, all].map(|tools| Arc::new(ToolSet::new(tools).unwrap()));
    let provider = provider_fn(move |principal: &Principal| {
        Ok(if principal.as_str() == "bob" { few.clone() } else { all.clone() })
    });
    let site = room::site(
        server().tools_from(provider).ask(candor_server::AskLevel::Destructive),
        room::known(),
    );
    for (who, number) in [("alice", 4), ("bob", 2), ("olga", 4)] {
        let listed = room::mcp(&site, who, "tools/list", json!({})).send().await.ok();
        let theirs = listed["result"]["tools"].as_array().unwrap();
        let ours = room::ask(&site, who, "GET", "/tools").send().await.ok();
        let ours = ours.as_array().unwrap();
        assert_eq!((ours.len(), theirs.len()), (number, number), "{who}");
        for (ours, theirs) in ours.iter().zip(theirs) {
            assert_eq!(ours["name"], theirs["name"]);
            assert_eq!(ours["description"], theirs["description"].as_str().unwrap_or(""));
            assert_eq!(ours.get("annotations"), theirs.get("annotations"));
            let path = format!("/tools/{}", ours["name"].as_str().unwrap());
            let detail = room::ask(&site, who, "GET", &path).send().await.ok();
            let mut theirs = theirs.clone();
            theirs["description"] = ours["description"].clone();
            theirs.as_object_mut().unwrap().shift_remove("_meta");
            assert_eq!(detail, theirs, "{who}: everything but `_meta`");
        }
        if let Some(dynamic) = ours.get(2) {
            let hints = dynamic["annotations"].as_object().unwrap();
            assert_eq!(hints.len(), 4, "computed, so all are known: {dynamic}");
        }
    }
}

#[tokio::test]
async fn server_without_tools_has_an_empty_list() {
    assert_eq!(Site::of(server()).get("/tools").await.ok(), json!([]));
    let none = server().tools_from(Vec::<Arc<dyn Tool>>::new());
    assert_eq!(Site::of(none).get("/tools").await.ok(), json!([]));
}

#[tokio::test]
async fn matching_etag_returns_not_modified() {
    let site = Site::of(sample());
    for path in ["/tools", "/tools/get_weather", "/tools?limit=1", "/openapi.json"] {
        let first = site.get(path).await;
        let tag = first.header("etag").to_owned();
        assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 10, "{path}: {tag}");
        assert_eq!(first.header("cache-control"), "private, no-cache");
        for sent in [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}"), "*".to_owned()] {
            let again = site.ask("GET", path).header("if-none-match", &sent).send().await;
            assert_eq!((again.status.as_u16(), again.body.as_str()), (304, ""), "{path}: {sent}");
            assert_eq!(again.header("etag"), tag);
        }
        let other = site.ask("GET", path).header("if-none-match", "\"x\"").send().await;
        assert_eq!((other.status.as_u16(), other.body), (200, first.body), "{path}");
    }
    let one = site.get("/tools").await.header("etag").to_owned();
    let other = Site::of(server().tool(weather())).get("/tools").await.header("etag").to_owned();
    assert_ne!(one, other, "another list has another tag");
}

#[tokio::test]
async fn head_is_get_without_its_body() {
    let site = Site::of(sample());
    for path in
        ["/tools", "/tools/", "/tools/get_weather", "/tools/nothing", "/openapi.json", "/nothing"]
    {
        let (get, head) = (site.get(path).await, site.ask("HEAD", path).send().await);
        assert_eq!((head.status, head.body.as_str()), (get.status, ""), "{path}");
        let length = get.body.len().to_string();
        assert_eq!(head.header("content-length"), length, "{path}");
        for (name, value) in &get.headers {
            // A second may pass in between.
            if name != "content-length" && name != "date" {
                assert_eq!(head.headers.get(name), Some(value), "{path}: {name}");
            }
        }
    }
}

#[tokio::test]
async fn tool_list_is_paged_only_on_request() {
    let names: Vec<String> = (0..7).map(|n| format!("t{n}")).collect();
    let site = Site::of(server().tools(names.iter().map(|name| named(name)))).nested("/x");
    let mut path = "/x/tools?limit=3".to_owned();
    let (mut pages, mut seen) = (Vec::new(), Vec::new());
    loop {
        let page = site.get(&path).await;
        let tools = page.ok();
        pages.push(tools.as_array().unwrap().len());
        seen.extend(
            tools.as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap().to_owned()),
        );
        match page
            .header("link")
            .strip_prefix('<')
            .and_then(|link| link.split_once(">; rel=\"next\""))
        {
            Some((next, "")) => path = next.to_owned(),
            _ => break,
        }
    }
    assert_eq!((pages, seen), (vec![3, 3, 1], names));
    assert_eq!(site.get("/x/tools").await.header("link"), "", "the whole list has no next page");
    for bad in ["limit=0", "limit=x", "limit=-1", "limit=1001", "cursor=!", "cursor=MTAw"] {
        site.get(&format!("/x/tools?{bad}")).await.problem(400, "bad_request");
    }
    let end = site.get("/x/tools?limit=3&cursor=dG9vbHM6OTk5").await;
    assert_eq!(end.ok(), json!([]), "a list may have shrunk");
}

#[tokio::test]
async fn ten_thousand_tools_fit_in_one_list() {
    let tools: Vec<Arc<dyn Tool>> = (0..10_000).map(|n| named(&format!("t{n}"))).collect();
    let site = Site::of(server().tools_from(tools));
    let listed = site.get("/tools").await.ok();
    assert_eq!(listed.as_array().unwrap().len(), 10_000);
    assert_eq!(listed[9_999]["name"], "t9999");
}

/// Both wires publish what a plain definition declares: `title`, unknown fields, and nothing for `null` or `{}`.
#[tokio::test]
async fn plain_definition_is_the_same_over_rest_and_mcp() {
    let all = json!({"readOnlyHint": true, "title": "Reads", "vendor": {"x": [null], "n": 1.50}});
    for (annotations, published) in
        [(None, None), (Some(json!({})), None), (Some(all.clone()), Some(all))]
    {
        let mut given = json!({
            "name": "plain",
            "title": "Plain",
            "description": "From a file.",
            "inputSchema": {"type": "object", "x-vendor": [{"deep": [1, null]}]},
        });
        if let Some(annotations) = annotations {
            given["annotations"] = annotations;
        }
        let definition = Definition::decode((&*raw(&given)).into()).unwrap();
        let tool = JsonTool::open("plain", |_, _| async { Ok::<_, ToolError>("") })
            .define(move |empty| *empty = definition);
        let site = room::site(server().tool(tool), Http::default());
        let mut said = given.clone();
        let members = said.as_object_mut().unwrap();
        members.shift_remove("annotations");
        members.extend(published.map(|published| ("annotations".to_owned(), published)));
        let detail = site.get("/tools/plain").await.ok();
        assert_eq!(detail, said);
        let mcp = room::mcp(&site, "nobody", "tools/list", json!({})).send().await.ok();
        assert_eq!(mcp["result"]["tools"][0], said);
        said.as_object_mut().unwrap().shift_remove("inputSchema");
        assert_eq!(site.get("/tools").await.ok(), json!([said]));
    }
}

#[tokio::test]
async fn rest_omits_null_annotations() {
    for annotations in [json!(null), json!({"readOnlyHint": null}), json!({"vendor": null})] {
        let given =
            json!({"name": "plain", "inputSchema": {"type": "object"}, "annotations": annotations});
        let definition = Definition::decode((&*raw(&given)).into()).unwrap();
        let tool = JsonTool::open("plain", |_, _| async { Ok::<_, ToolError>("") })
            .define(move |empty| *empty = definition);
        let listed = Site::of(server().tool(tool)).get("/tools").await.ok();
        assert_eq!(listed, json!([{"name": "plain", "description": ""}]), "{annotations}");
    }
}

#[tokio::test]
async fn discovery_runs_no_handler() {
    let ran = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = ran.clone();
    let tool = JsonTool::open("t", move |_, _| {
        counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async { Ok::<_, ToolError>("") }
    });
    let site = Site::of(server().tool(tool).tool(delete_record()));
    for path in ["/tools", "/tools/t", "/openapi.json"] {
        let (one, other) = (site.get(path).await, site.get(path).await);
        assert_eq!(one.body, other.body);
    }
    site.post("/tools/t/validate", json!({})).await.ok();
    site.post("/tools/t/annotations", json!({})).await.ok();
    assert_eq!(ran.load(std::sync::atomic::Ordering::SeqCst), 0);
}

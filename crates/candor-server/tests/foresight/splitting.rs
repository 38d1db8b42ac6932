//! Tools listed in parts, for hosts that read static hints only.

use candor_hints::{Condition, EffectRow, EffectTable, Hints};
use candor_server::protocol::json::Object;
use candor_server::testing::TestClient;
use candor_server::tool::{JsonTool, Split, ToolSet, provider_fn};
use candor_server::{Elicit, Server};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::common::{Call, Site, call, greet, modern, server, text};
use crate::{Files, OURS, RESOLUTION, clients, errors, files, files_schema, four, is, results};

fn names(list: &Value) -> Vec<&str> {
    list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

async fn listed(server: Server) -> [Value; 2] {
    results(&Site::of(server), "tools/list", &json!({})).await
}

#[tokio::test]
async fn split_tools_are_listed_instead_of_or_after_the_original() {
    let parts =
        ["manage_files_read", "manage_files_append", "manage_files_replace", "manage_files_delete"];
    for list in listed(files().tool(greet()).split(Split::Instead)).await {
        assert_eq!(names(&list), [&parts[..], &["greet"]].concat());
    }
    for list in
        listed(server().tool(greet()).tool(Files::default().tool()).split(Split::Beside)).await
    {
        assert_eq!(names(&list), [&["greet", "manage_files"], &parts[..]].concat());
    }
    for list in listed(files()).await {
        assert_eq!(names(&list), ["manage_files"]);
    }
}

#[tokio::test]
async fn split_tool_has_exact_hints_and_lacks_the_argument() {
    for list in listed(files().split(Split::Instead)).await {
        let mut schema = files_schema();
        schema["properties"].as_object_mut().unwrap().shift_remove("action");
        schema["required"] = json!(["path"]);
        let expected = json!({
            "name": "manage_files_append",
            "description": "Read, append, replace, or delete file contents (action: append; Adds · not safe to retry · local) Not safe to retry with same inputs.",
            "inputSchema": schema,
            "annotations": four(false, false, false, false),
            "_meta": {OURS: {"effect": "adds"}},
        });
        assert_eq!(list["tools"][1], expected);
        assert_eq!(list["tools"][0]["annotations"], four(true, false, true, false));
        assert_eq!(list["tools"][3]["annotations"], four(false, true, true, false));
    }
}

#[tokio::test]
async fn split_tool_call_runs_the_original() {
    let world = Files::default();
    for client in clients(|| world.server().split(Split::Instead)) {
        world.set_up();
        let called = client.call("manage_files_append", json!({"path": "a", "content": "!"})).await;
        assert_eq!(called.text(), "one!");
        assert_eq!(called.foreseen(), Some(Hints::ADDS.closed_world()));
        assert!(client.hints("manage_files_read", json!({"path": "a"})).await.is_read_only());
        assert!(client.hints_of_partial("manage_files_read", ()).await.is_read_only());
        // The original can still be called by its name.
        let whole = client.call("manage_files", json!({"path": "a", "action": "delete"})).await;
        assert_eq!(whole.text(), "gone");
    }
}

#[tokio::test]
async fn each_split_tool_has_exactly_its_declared_effect() {
    let world = Files::default();
    let client = world.server().split(Split::Instead).test();
    for part in client.tools().await {
        let calls = [json!({"path": "a", "content": "two"})];
        let observed =
            client.check_effects(&part.name, calls, || world.set_up(), || world.look()).await;
        assert_eq!(observed[0].seen, observed[0].foreseen, "{}", part.name);
        assert_eq!(serde_json::to_value(part.annotations).unwrap(), is(observed[0].foreseen));
    }
}

#[tokio::test]
async fn split_tool_refuses_the_removed_argument() {
    let world = Files::default();
    for client in clients(|| world.server().split(Split::Beside)) {
        for action in ["read", "delete"] {
            let arguments = json!({"path": "a", "action": action});
            let refused = client.call("manage_files_read", &arguments).await;
            assert!(refused.is_error());
            assert_eq!(
                refused.text(),
                r#"Invalid arguments for manage_files_read: /action: is always "read" here; leave it out"#
            );
            let error = client.try_hints("manage_files_read", &arguments).await.unwrap_err();
            assert_eq!(error.code(), -32602);
            assert!(error.message.contains("manage_files_read: /action"), "{}", error.message);
        }
    }
    assert_eq!(world.runs(), 0);
}

#[tokio::test]
async fn invalid_arguments_error_names_the_split_tool() {
    let client = files().split(Split::Instead).test();
    let refused = client.call("manage_files_read", ()).await;
    assert!(
        refused.text().starts_with("Invalid arguments for manage_files_read: "),
        "{}",
        refused.text()
    );
}

#[tokio::test]
async fn split_tools_are_unknown_without_split() {
    let params = json!({"name": "manage_files_read", "arguments": {"path": "a"}});
    for method in ["tools/call", "tools/annotations"] {
        for error in errors(&Site::of(files()), method, &params, -32602).await {
            assert_eq!(error["message"], "Unknown tool: manage_files_read");
        }
    }
}

/// A tool with these values of its argument `do`.
fn doing(name: &str, values: &Value) -> JsonTool {
    let schema = json!({
        "type": "object",
        "properties": {"do": {"type": "string", "enum": values}},
        "required": ["do"],
    });
    let row = EffectRow::when("do", Condition::equals(values[0].clone())).then(Hints::READS);
    JsonTool::new(
        name,
        &schema,
        |args, _| async move { Ok(args["do"].as_str().unwrap().to_owned()) },
    )
    .effects(EffectTable::new().row(row))
}

#[test]
fn split_tool_with_a_taken_or_long_name_fails_the_build() {
    let build = |server: Server| server.split(Split::Instead).build().err().unwrap().to_string();
    let taken = r#"tool "a": its part "a_look" has the name of another tool"#;
    assert_eq!(
        build(server().tool(doing("a", &json!(["look"]))).tool(doing("a_look", &json!(["x"])))),
        taken
    );
    assert_eq!(
        build(server().tool(doing("a_look", &json!(["x"]))).tool(doing("a", &json!(["look"])))),
        taken
    );
    let twins = build(server().tool(doing("a", &json!(["be it", "be-it", "be_it"]))));
    assert_eq!(twins, r#"tool "a": its part "a_be_it" has the name of another tool"#);
    let parts_of_two =
        build(server().tool(doing("a", &json!(["b_c"]))).tool(doing("a_b", &json!(["c"]))));
    assert_eq!(parts_of_two, r#"tool "a_b": its part "a_b_c" has the name of another tool"#);
    let long = "x".repeat(60);
    let too_long = build(server().tool(doing(&long, &json!(["look"]))));
    assert_eq!(
        too_long,
        format!(r#"tool "{long}": its part "{long}_look" has a name of more than 64 characters"#)
    );
    // Without the split, the names do not clash.
    server()
        .tool(doing("a", &json!(["look"])))
        .tool(doing("a_look", &json!(["x"])))
        .build()
        .unwrap();
    server().tool(doing(&"x".repeat(59), &json!(["look"]))).split(Split::Instead).build().unwrap();
}

#[tokio::test]
async fn split_tool_names_use_characters_that_hosts_accept() {
    let tool = doing("do.it", &json!(["look", "lösch alles", ""]));
    let client = server().tool(tool).split(Split::Instead).test();
    let names: Vec<_> = client.tools().await.into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["do_it_look", "do_it_l_sch_alles", "do_it_"]);
    assert_eq!(client.call("do_it_l_sch_alles", ()).await.text(), "lösch alles");
    assert_eq!(client.hints("do_it_look", ()).await, Hints::READS);
    assert_eq!(client.hints("do_it_", ()).await, Hints::WORST);
}

/// Listing to be split by `do`, with a further argument that matters.
fn careful() -> JsonTool {
    let schema = json!({
        "type": "object",
        "properties": {"do": {"enum": ["look", "remove"]}, "dry": {"type": "boolean"}},
        "required": ["do"],
    });
    let remove = || EffectRow::when("do", Condition::equals("remove"));
    let table = EffectTable::new()
        .row(EffectRow::when("do", Condition::equals("look")).then(Hints::READS))
        .row(remove().and("dry", Condition::equals(true)).then(Hints::READS))
        .row(remove().then(Hints::DELETES));
    JsonTool::new("careful", &schema, |_, _| async { Ok("") }).effects(table)
}

#[tokio::test]
async fn split_tool_with_a_deciding_argument_stays_dynamic() {
    for client in clients(|| server().tool(careful()).split(Split::Instead)) {
        assert_eq!(client.tool("careful_look").await.dynamic_annotations, None);
        let remove = client.tool("careful_remove").await;
        assert_eq!(remove.dynamic_annotations, Some(true));
        assert_eq!(serde_json::to_value(remove.annotations).unwrap(), is(Hints::DELETES));
        assert!(client.hints("careful_remove", json!({"dry": true})).await.is_read_only());
        assert!(client.hints("careful_remove", json!({"dry": false})).await.is_destructive());
    }
}

#[tokio::test]
async fn dynamic_split_tool_is_marked_and_resolved() {
    for client in clients(|| server().tool(careful()).split(Split::Instead)) {
        let client = client.capabilities(|able| {
            able.extensions = Some([(RESOLUTION.to_owned(), Object::new())].into());
        });
        let mark =
            async |name| client.tool(name).await.meta.is_some_and(|m| m.get(RESOLUTION).is_some());
        assert!(mark("careful_remove").await);
        assert!(!mark("careful_look").await);
        let ask = |name: &str| {
            client.request("tools/resolve", json!({"name": name, "arguments": {"dry": true}}))
        };
        let resolved = ask("careful_remove").await.unwrap();
        assert_eq!(resolved["name"], "careful_remove");
        assert_eq!(resolved["annotations"], is(Hints::READS));
        assert_eq!(ask("careful_look").await.unwrap_err().code(), -32602);
    }
}

#[tokio::test]
async fn split_tool_can_elicit_input_and_reports_its_effect() {
    let form =
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    let asks = || {
        let schema =
            json!({"type": "object", "properties": {"do": {"enum": ["look"]}}, "required": ["do"]});
        let form = form.clone();
        let tool = JsonTool::new("ask", &schema, move |args, ctx| {
            let question = Elicit::form("Who?", &form);
            async move {
                let answer = ctx.elicit(question).await?;
                let name = answer.accepted().map(|form| form["name"].clone());
                Ok(format!("{} {}", args["do"], name.unwrap_or_default()))
            }
        });
        tool.effects(
            EffectTable::new()
                .row(EffectRow::when("do", Condition::equals("look")).then(Hints::READS)),
        )
    };
    for client in clients(|| server().tool(asks()).split(Split::Instead)) {
        let called = client.on_elicit(|_| json!({"name": "Ada"})).call("ask_look", ()).await;
        assert_eq!(called.text(), r#""look" "Ada""#);
        assert_eq!(called.foreseen(), Some(Hints::READS));
    }
}

#[tokio::test]
async fn tool_that_cannot_be_split_is_listed_unsplit() {
    let by_path = || {
        let row = EffectRow::when("path", Condition::Below("/public".into())).then(Hints::READS);
        JsonTool::open("by_path", |_, _| async { Ok("") }).effects(EffectTable::new().row(row))
    };
    let by_function = || {
        JsonTool::open("by_function", |_, _| async { Ok("") })
            .effects_by(Hints::WORST, |_| Hints::READS)
    };
    for list in
        listed(server().tool(by_path()).tool(by_function()).tool(greet()).split(Split::Instead))
            .await
    {
        assert_eq!(names(&list), ["by_path", "by_function", "greet"]);
    }
}

#[tokio::test]
async fn provided_set_that_cannot_be_split_is_listed_unsplit() {
    let set = |tools: [JsonTool; 2]| {
        Arc::new(
            ToolSet::new(tools.map(|tool| Arc::new(tool) as Arc<dyn candor_server::tool::Tool>))
                .unwrap(),
        )
    };
    let clash = set([doing("a", &json!(["look"])), doing("a_look", &json!(["x"]))]);
    let fine = set([doing("a", &json!(["look"])), greet()]);
    let provided = provider_fn(move |principal| {
        Ok(if principal.as_str() == "alice" { fine.clone() } else { clash.clone() })
    });
    let client = server().tools_from(provided).split(Split::Instead).test();
    let names = async |client: &TestClient| -> Vec<String> {
        client.tools().await.into_iter().map(|tool| tool.name).collect()
    };
    assert_eq!(names(&client).await, ["a", "a_look"]);
    assert_eq!(names(&client.by("alice")).await, ["a_look", "greet"]);
    assert_eq!(client.by("alice").call("a_look", ()).await.text(), "look");
}

#[tokio::test]
async fn split_tools_count_toward_the_page_size() {
    let values: Vec<_> = (0..700).map(|n| format!("v{n}")).collect();
    let tools = [doing("a", &json!(values)), doing("b", &json!(values))];
    let server = tools.into_iter().fold(server(), Server::tool).split(Split::Beside);
    let client = server.test();
    let first = client.request("tools/list", ()).await.unwrap();
    assert_eq!(names(&first).len(), 1000);
    let second =
        client.request("tools/list", json!({"cursor": first["nextCursor"]})).await.unwrap();
    assert_eq!(second.get("nextCursor"), None);
    let mut all = names(&first);
    all.extend(names(&second));
    assert_eq!(all.len(), 1402);
    assert_eq!(
        (all[0], all[1], all[701], all[702], all[1401]),
        ("a", "a_v0", "b", "b_v0", "b_v699")
    );
}

#[tokio::test]
async fn split_tool_checks_only_its_own_mirrored_headers() {
    let schema = json!({
        "type": "object",
        "properties": {
            "do": {"type": "string", "enum": ["look", "remove"], "x-mcp-header": "Do"},
            "region": {"type": "string", "x-mcp-header": "Region"},
        },
        "required": ["do", "region"],
    });
    let row = EffectRow::when("do", Condition::equals("look")).then(Hints::READS);
    let tool = JsonTool::new("t", &schema, |args, _| async move {
        Ok(args["do"].as_str().unwrap().to_owned())
    })
    .effects(EffectTable::new().row(row));
    let site = Site::of(server().tool(tool).split(Split::Instead));
    let listed = site.send(modern("tools/list", &json!({}))).await.result().await;
    assert_eq!(listed["tools"][0]["inputSchema"]["properties"]["region"]["x-mcp-header"], "Region");

    let look = || call("t_look", &json!({"region": "eu"}));
    let honest: Call = look().header("mcp-param-region", "eu");
    assert_eq!(text(&site.send(honest.clone()).await.result().await), "look");
    site.send(look()).await.error(400, -32020).await;
    site.send(look().header("mcp-param-region", "us")).await.error(400, -32020).await;
    site.send(honest.header("mcp-param-do", "remove")).await.error(400, -32020).await;
}

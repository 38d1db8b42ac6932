//! `candor tools`.

use serde_json::json;

use crate::{CANNED, World, names};

const MANAGE: &str = "May delete    manage_files(path: string, action: ";

#[tokio::test]
async fn tools_are_listed_over_http_and_over_stdio_alike() {
    let world = World::new("listing");
    let (_server, target) = world.serve(&[]).await;
    let over_http = world.run(&["tools", &target]).await.ended(0);
    let over_stdio = world.over_stdio(&["tools"]).await.ended(0);
    for told in [&over_http, &over_stdio] {
        assert!(told.stdout.starts_with(MANAGE), "{told:?}");
        told.says("\nReads         list_files(path: string = \"\"");
        told.says("\nAdds          make_folder(path: string) -> string\n");
        assert_eq!(told.stderr, "", "{told:?}");
    }
    assert_eq!(over_http.stdout, over_stdio.stdout);
}

#[tokio::test]
async fn tools_json_is_one_object() {
    let world = World::new("listing json");
    let result = world.over_stdio(&["tools", "--json"]).await.ended(0).result();
    let tools = &result["tools"];
    assert!(names(tools).contains(&"manage_files"), "{tools}");
    let manage = &tools[0];
    assert_eq!(manage["dependsOnArguments"], true);
    assert_eq!(manage["hints"]["destructiveHint"], true);
    assert_eq!(manage["preview"]["tool"], "preview_manage_files");
    assert!(manage["inputSchema"]["properties"]["action"].is_object());
    assert_eq!(result["leftOut"], serde_json::json!([]));
}

/// Numbers keep their digits, and a member with a name that Candor uses cannot replace Candor's.
#[tokio::test]
async fn json_list_keeps_every_member_of_a_tool() {
    let world = World::new("listing lossless");
    let tool = r#"{"name":"t","inputSchema":{"type":"object","maximum":12345678901234567890123},
        "annotations":{"title":"T","readOnlyHint":true,"vendorHint":1.50},"execution":{"taskSupport":"optional"},
        "_meta":{"vendor/x":[1]},"vendor":{"deep":null},"effect":"harmless","icons":[]}"#;
    let list = format!(r#"{{"tools":[{tool}]}}"#);
    let words = ["tools", "--json", "--", "python3", CANNED];
    std::fs::write(world.around.join("canned.json"), list).unwrap();
    // Python reads and writes integers of any size as they are.
    let told = world.run(&words).await.ended(0);
    told.says("\"maximum\":12345678901234567890123");
    let tool = &told.result()["tools"][0];
    assert_eq!(tool["annotations"], json!({"title": "T", "readOnlyHint": true, "vendorHint": 1.5}));
    assert_eq!(tool["execution"], json!({"taskSupport": "optional"}));
    assert_eq!(tool["_meta"], json!({"vendor/x": [1]}));
    assert_eq!((&tool["vendor"], &tool["icons"]), (&json!({"deep": null}), &json!([])));
    assert_eq!(tool["shadowed"], json!({"effect": "harmless"}));
    assert_eq!(tool["effect"], "Reads · safe to retry · external");
    assert_eq!((&tool["title"], &tool["unclassified"]), (&json!("T"), &json!(false)));
}

#[tokio::test]
async fn omitted_tools_keep_their_definitions() {
    let world = World::new("listing left out");
    let good = json!({"name": "t", "inputSchema": {"type": "object"}});
    let twin = json!({"name": "t", "inputSchema": {"type": "object"}, "vendor": [1.50, null]});
    let odd = json!({"name": "odd", "inputSchema": 3, "_meta": {"a/b": {"c": 1}}});
    let canned = json!({"tools": [good, twin, odd, 7]});
    let result = world.canned(&canned, &["tools", "--json"]).await.ended(0).result();
    let left_out = result["leftOut"].as_array().unwrap();
    let definitions: Vec<_> = left_out.iter().map(|tool| tool["definition"].clone()).collect();
    assert_eq!(definitions, [twin, odd, json!(7)]);
}

#[tokio::test]
async fn tool_that_declares_any_hint_is_classified() {
    let world = World::new("listing some hints");
    let tool = |name: &str, hints: &serde_json::Value| json!({"name": name, "inputSchema": {"type": "object"}, "annotations": hints});
    let tools = [
        tool("again", &json!({"idempotentHint": true})),
        tool("local", &json!({"openWorldHint": false})),
        tool("nothing", &json!({})),
    ];
    let canned = json!({ "tools": tools });
    let told = world.canned(&canned, &["tools"]).await.ended(0);
    told.says("May change or delete  again()");
    told.says("May change or delete  local()");
    told.complains("1 tool is unclassified (treated as the worst case)");
    for (name, effect) in
        [("again", "safe to retry · external"), ("local", "not safe to retry · local")]
    {
        let told = world.canned(&canned, &["explain", name, "--trust", "hints"]).await.ended(0);
        told.says(&format!("May change or delete · {effect}"));
        told.says(
            "declares some of these hints, for all its calls; each other hint counts as the worst case",
        );
    }
}

#[tokio::test]
async fn wide_characters_keep_columns_aligned() {
    let world = World::new("listing wide");
    let doc = |name: &str| json!({"uri": format!("doc://{name}"), "name": name});
    let answers = json!({
        "resources/list": {"result": {"resources": [doc("漢字"), doc("four")]}},
        "resources/templates/list": {"result": {"resourceTemplates": []}},
    });
    let canned = json!({"capabilities": {"resources": {}}, "answers": answers});
    let told = world.canned(&canned, &["resources"]).await.ended(0);
    let columns: Vec<_> = told
        .stdout
        .lines()
        .map(|line| unicode_width::UnicodeWidthStr::width(line.split("doc://").next().unwrap()))
        .collect();
    assert_eq!(columns[1], columns[2], "{told:?}");
}

#[tokio::test]
async fn unusable_tool_is_omitted_with_its_reason() {
    let world = World::new("listing broken");
    let told = world.scripted(&["tools"]).await.ended(0);
    told.complains("left out: \"broken\\u{1b}[2J");
    told.complains("inputSchema");
    told.says("Unclassified  silent()");
    told.complains("1 tool is unclassified (treated as the worst case)");
    told.says("evil\\u{1b}[2J");
    let result = world.scripted(&["tools", "--json"]).await.ended(0).result();
    assert_eq!(result["leftOut"].as_array().unwrap().len(), 1);
    assert_eq!(
        result["leftOut"][0]["definition"],
        json!({"name": "broken\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}"})
    );
    assert_eq!(result["leftOut"][0]["name"], "broken\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}");
}

#[tokio::test]
async fn tools_command_takes_exactly_one_server() {
    let world = World::new("listing words");
    world.run(&["tools"]).await.ended(2).complains("which server?");
    world.over_stdio(&["tools", "manage_files"]).await.ended(2).complains("one word too many");
}

#[tokio::test]
async fn server_of_a_host_config_is_found_by_name() {
    let world = World::new("listing names");
    let files = [env!("CARGO_BIN_EXE_candor"), "files", "served", "--stdio"];
    let server = serde_json::json!({"command": files[0], "args": files[1..]});
    let hosts = serde_json::json!({"mcpServers": {"notes": server}});
    std::fs::write(world.around.join(".mcp.json"), hosts.to_string()).unwrap();
    let told = world.run(&["tools", "notes"]).await.ended(0);
    assert!(told.stdout.starts_with(MANAGE), "{told:?}");
    world.run(&["tools", "nots"]).await.ended(2).complains("notes");
    let told = world.run(&["doctor", "notes"]).await.ended(0);
    told.says("(from notes in ");
}

#[tokio::test]
async fn tool_whose_schema_is_unavailable_is_named() {
    let world = World::new("listing unavailable");
    let mark = json!({"dev.candor/schema": {"unavailable": ["input", "output"]}});
    let tool = json!({"name": "odd", "description": "Odd.", "inputSchema": {"type": "object"}, "_meta": mark});
    let program = world.cans(&json!({"tools": [tool]}));
    let words = |command: &'static str| [&[command][..], &program[..]].concat();
    let told = world.run(&words("tools")).await.ended(0);
    let said = "odd\": its input and output schema is unavailable";
    assert!(told.stderr.contains(said), "{told:?}");
    let told = world.run(&words("doctor")).await.ended(0);
    assert!(told.stdout.contains("its input and output schema is unavailable"), "{told:?}");
}

//! Secrets are not printed, whoever speaks of them.

use std::fs;

use serde_json::{Value, json};

use crate::{Told, World};

/// A file of the person, with a server `notes`.
fn own(world: &World, notes: &Value) {
    let file = json!({"mcpServers": {"notes": notes}});
    fs::write(world.around.join(".mcp.json"), file.to_string()).unwrap();
}

async fn run(world: &World, words: &[&str]) -> Told {
    let mut command = world.candor(words);
    command.env("TOKEN", "fr0m-variable").env("API_KEY", "an0ther");
    let told = world.finish(command).await;
    for secret in ["fr0m-variable", "l1teral", "an0ther"] {
        assert!(!told.stdout.contains(secret) && !told.stderr.contains(secret), "{told:?}");
    }
    told
}

#[tokio::test]
async fn printed_address_omits_credentials() {
    let world = World::new("veiled address");
    let headers = json!({"Authorization": "Bearer l1teral-header"});
    let url = "http://127.0.0.1:1/${TOKEN}/mcp?api_key=l1teral&page=${API_KEY}";
    own(&world, &json!({"url": url, "headers": headers}));
    let seen = "http://127.0.0.1:1/${TOKEN}/mcp?api_key=…&page=${API_KEY}";
    run(&world, &["doctor", "notes"]).await.ended(4).says(seen);
    let told = run(&world, &["doctor", "notes", "--json"]).await.ended(4);
    let found = told.error()["checks"][0]["found"].as_str().unwrap().to_owned();
    assert!(found.starts_with(seen), "{found}");
    for words in [&["tools", "notes"][..], &["call", "notes", "x", "--json"]] {
        run(&world, words).await.ended(4).complains("cannot reach http://127.0.0.1:1/");
    }
    let typed = "http://127.0.0.1:1/mcp?token=l1teral";
    run(&world, &["tools", typed]).await.ended(4).complains("http://127.0.0.1:1/mcp?…: ");
    let user = "http://ann:l1teral@127.0.0.1:1/mcp";
    run(&world, &["tools", user]).await.ended(2).complains("http://…@127.0.0.1:1/mcp: a name and");
    own(&world, &json!({"url": "https://ann:l1teral@a.example/mcp"}));
    run(&world, &["tools", "notes"]).await.ended(4).complains("has no user in it");
}

#[tokio::test]
async fn printed_program_and_its_stderr_are_redacted() {
    let world = World::new("veiled program");
    let leaky = "import os, sys; print('args', sys.argv[1:], os.environ['MY_SECRET'], file=sys.stderr); sys.exit(9)";
    let args = json!([
        "-c",
        leaky,
        "--token",
        "l1teral",
        "--header",
        "Authorization: Bearer ${TOKEN}",
        "x=${API_KEY}"
    ]);
    let program = json!({"command": "python3", "args": args, "env": {"MY_SECRET": "l1teral-too"}});
    own(&world, &program);
    let told = run(&world, &["doctor", "notes"]).await.ended(4);
    told.says("--token … --header Authorization: Bearer ${TOKEN} 'x=${API_KEY}' (from notes in");
    told.says("exit status: 9: \"args [");
    run(&world, &["doctor", "notes", "--json"]).await.ended(4);
    run(&world, &["tools", "notes"]).await.ended(4).complains("exit status: 9");
    own(&world, &json!({"command": "no-such-program", "args": ["--token=l1teral"]}));
    run(&world, &["tools", "notes"]).await.ended(4).complains("no-such-program");
    run(&world, &["tools", "--", "no-such-program", "--token=l1teral"]).await.ended(4);
}

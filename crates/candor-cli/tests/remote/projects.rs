//! A project's file is untrusted's: what it would start or send is agreed to first.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::terminal::Terminal;
use crate::{SCRIPTED, Told, World};

const QUESTION: &str = "Do you agree, until this changes? [y/N]";

/// A project that was cloned, whose file names the server `notes`.
fn cloned(world: &World, notes: &Value) -> PathBuf {
    let project = world.around.join("cloned");
    fs::create_dir_all(&project).unwrap();
    let file = json!({"mcpServers": {"notes": notes}});
    fs::write(project.join(".mcp.json"), file.to_string()).unwrap();
    project
}

/// The scripted server, with another mark each time that somebody changes it.
fn program(mark: &str) -> Value {
    json!({"command": "python3", "args": [SCRIPTED, "${MARK}", mark], "env": {"AT": "${TOKEN}"}})
}

fn command(world: &World, words: &[&str]) -> std::process::Command {
    let mut command = world.candor(words);
    command.current_dir(world.around.join("cloned"));
    command.env("MARK", "filled-in").env("TOKEN", "t0p-s3cret");
    command
}

async fn run(world: &World, words: &[&str]) -> Told {
    world.finish(command(world, words)).await
}

fn at_terminal(world: &World, words: &[&str]) -> Terminal {
    Terminal::of(command(world, words))
}

#[tokio::test]
async fn program_of_a_project_starts_only_after_exact_agreement() {
    let world = World::new("projects program");
    let project = cloned(&world, &program("1"));
    for words in [&["tools", "notes"][..], &["call", "notes", "say", "--yes"], &["doctor", "notes"]]
    {
        let told = run(&world, words).await.ended(3);
        told.complains("no terminal is available. Nothing was started or sent.");
        told.complains("Run the same command once at a terminal");
        told.complains("${MARK}");
        assert!(!told.stderr.contains("filled-in") && !told.stderr.contains("hello"), "{told:?}");
    }
    let told = run(&world, &["tools", "notes", "--json"]).await.ended(3);
    assert_eq!(told.error()["code"], "refused");

    let mut terminal = at_terminal(&world, &["tools", "notes"]);
    terminal.says(QUESTION);
    let asked = terminal.text();
    for part in [
        &format!("notes in {}/.mcp.json: this file came with a project.", project.display()),
        &format!("in {}:\n", project.display()),
        &format!("  python3 {SCRIPTED} '${{MARK}}' 1\n"),
        "  AT=${TOKEN}\n",
        "filled in with what is set here as: MARK, TOKEN\n",
    ] {
        assert!(asked.contains(part), "no {part:?} in {asked}");
    }
    assert!(!asked.contains("t0p-s3cret"), "{asked}");
    terminal.types("n");
    let (code, text) = terminal.ended();
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("You declined. Nothing was started or sent."), "{text}");
    run(&world, &["tools", "notes"]).await.ended(3);

    let mut terminal = at_terminal(&world, &["tools", "notes"]);
    terminal.says(QUESTION);
    terminal.types("y");
    let (code, text) = terminal.ended();
    assert_eq!(code, Some(0), "{text}");
    let file = world.around.join("state/candor/agreed");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // No command asks again, and a program that may run as this user is trusted.
    run(&world, &["call", "notes", "say", "text=hi"]).await.ended(0).says("hi");

    // Other arguments or another folder need another agreement.
    cloned(&world, &program("2"));
    run(&world, &["tools", "notes"]).await.ended(3);
    cloned(&world, &program("1"));
    run(&world, &["tools", "notes"]).await.ended(0);
    let elsewhere = world.around.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::copy(project.join(".mcp.json"), elsewhere.join(".mcp.json")).unwrap();
    let mut other = command(&world, &["tools", "notes"]);
    other.current_dir(&elsewhere);
    world.finish(other).await.ended(3);

    // A file that others can write proves no agreement.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    run(&world, &["tools", "notes"]).await.ended(3);
}

#[tokio::test]
async fn project_variable_is_not_sent_without_agreement() {
    let world = World::new("projects variables");
    let (_server, target) = world.serve(&[]).await;
    let url = format!("http://127.0.0.1{target}/mcp");
    cloned(&world, &json!({"url": url, "headers": {"X-Team": "${TOKEN}"}}));
    let told = run(&world, &["tools", "notes"]).await.ended(3);
    told.complains(&format!("It sends requests to\n  {url}\n"));
    told.complains("  X-Team: ${TOKEN}\n");
    told.complains("filled in with what is set here as: TOKEN\n");
    let mut terminal = at_terminal(&world, &["tools", "notes"]);
    terminal.says(QUESTION);
    terminal.types("yes");
    assert_eq!(terminal.ended().0, Some(0));
    run(&world, &["tools", "notes"]).await.ended(0);
}

/// A server on this machine or in its network may take every caller for one of its own users.
#[tokio::test]
async fn project_url_on_a_private_network_needs_agreement() {
    let world = World::new("projects near");
    let (_server, target) = world.serve(&[]).await;
    let url = format!("http://127.0.0.1{target}/mcp");
    for notes in [
        json!({"url": url}),
        json!({"url": url, "headers": {"X-Team": "blue"}}),
        json!({"url": "https://wiki/mcp"}),
        json!({"url": "http://10.0.0.1/mcp"}),
        json!({"url": "https://a.invalid/mcp", "headers": {"X-Team": "blue"}}),
    ] {
        cloned(&world, &notes);
        let told = run(&world, &["tools", "notes"]).await.ended(3);
        told.complains("this project's server needs your agreement");
        told.complains(notes["url"].as_str().unwrap());
    }
    // A public URL that gets only requests needs no agreement. No server answers there.
    cloned(&world, &json!({"url": "https://a.invalid/mcp"}));
    run(&world, &["tools", "notes"]).await.ended(4);

    cloned(&world, &json!({"url": url}));
    let mut terminal = at_terminal(&world, &["tools", "notes"]);
    terminal.says(QUESTION);
    terminal.types("y");
    let (code, text) = terminal.ended();
    assert_eq!(code, Some(0), "{text}");
    // It is used from now on and stays untrusted, although it is on this machine.
    run(&world, &["tools", "notes"]).await.ended(0).complains("is untrusted");
    let read = ["call", "notes", "manage_files", "action=read", "path=a.txt"];
    run(&world, &read).await.ended(3).complains("--trust hints");
    run(&world, &[&read[..], &["--trust", "hints"]].concat()).await.ended(0).says("first");
    run(&world, &["tools", &target]).await.ended(0);
}

#[tokio::test]
async fn users_own_entry_is_used_without_a_prompt() {
    let world = World::new("projects own");
    cloned(&world, &json!({"command": "never-started"}));
    let own = json!({"mcpServers": {"notes": {"command": "python3", "args": [SCRIPTED]}}});
    fs::create_dir(world.around.join(".cursor")).unwrap();
    fs::write(world.around.join(".cursor/mcp.json"), own.to_string()).unwrap();
    let told = run(&world, &["call", "notes", "say", "text=hi"]).await.ended(0);
    told.says("hi");
    told.complains("cloned/.mcp.json as well; your own in ");
}

#[test]
fn agreement_that_cannot_be_stored_counts_once() {
    let world = World::new("projects forgotten");
    cloned(&world, &program("1"));
    fs::write(world.around.join("state"), "not a folder").unwrap();
    for _ in 0..2 {
        let mut terminal = at_terminal(&world, &["tools", "notes"]);
        terminal.says(QUESTION);
        terminal.types("y");
        let (code, text) = terminal.ended();
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains("Candor will ask this again: "), "{text}");
    }
}

#[test]
fn interrupt_at_the_agreement_prompt_stores_nothing() {
    let world = World::new("projects leave");
    cloned(&world, &program("1"));
    let terminal = at_terminal(&world, &["tools", "notes"]);
    terminal.says(QUESTION);
    let text = terminal.interrupt();
    assert!(text.contains("error: interrupted"), "{text}");
    assert!(!world.around.join("state/candor/agreed").exists());
}

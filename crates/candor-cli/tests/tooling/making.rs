//! `candor new NAME`: what it makes compiles, passes its own tests, and serves.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::json;
use tokio::process::Command;

use crate::Home;
use crate::messages::{call, initialize, text};
use crate::process::{Program, output};

const CANDOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../candor");
const CLI: &str = env!("CARGO_MANIFEST_DIR");

/// Cargo in a folder, on what is compiled already: in our own target folder, with our versions and our kind of debug information.
async fn cargo(folder: &Path, args: &[&str]) -> Output {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut command = Command::new(env!("CARGO"));
    command.args(args).current_dir(folder).kill_on_drop(true);
    command.env("CARGO_TARGET_DIR", target).env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
    let done = command.output().await.unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.success(),
        "cargo {args:?}: {told}{}",
        String::from_utf8_lossy(&done.stdout)
    );
    assert!(!told.contains("warning"), "cargo {args:?}: {told}");
    done
}

#[tokio::test]
async fn new_crate_passes_its_tests_and_serves() {
    let home = Home::new("serves");
    let made = output(&mut home.candor(&["new", "my-notes"])).await;
    assert_eq!(made.status.code(), Some(0), "{:?}", made.stderr);
    let folder = home.work().join("my-notes");
    // The versions of our own build, so that nothing has to be fetched or compiled again.
    fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock"), folder.join("Cargo.lock"))
        .unwrap();

    cargo(&folder, &["fmt", "--check"]).await;
    let tested = cargo(&folder, &["test", "--offline"]).await;
    let told = String::from_utf8_lossy(&tested.stdout);
    assert!(told.contains("test result: ok. 4 passed; 0 failed"), "{told}");

    let built = cargo(&folder, &["build", "--offline", "--message-format=json"]).await;
    let built = String::from_utf8_lossy(&built.stdout);
    let messages =
        built.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let program = messages
        .filter_map(|message| message["executable"].as_str().map(str::to_owned))
        .next_back();
    let mut command = Command::new(program.expect("a program was built"));
    command
        .arg("--stdio")
        .current_dir(&folder)
        .env_remove("NOTES")
        .env("XDG_STATE_HOME", home.0.join("state"));
    let mut server = Program::start(&mut command);
    let hello = server.ask(&initialize(1)).await;
    assert_eq!(hello["result"]["serverInfo"]["name"], "my-notes");
    let note = json!({"text": "buy milk", "idempotency_key": "key-1"});
    for id in [2, 3] {
        let answer = server.ask(&call(id, "add_note", &note)).await;
        assert_eq!(text(&answer), "Added as note 1.", "a retry adds nothing");
    }
    assert_eq!(fs::read_to_string(folder.join("notes.txt")).unwrap(), "buy milk\n");
}

/// The program of the tests is built from a clone.
#[tokio::test]
async fn new_crate_depends_on_the_clone_that_built_the_program() {
    let home = Home::new("built");
    let made = output(&mut home.candor(&["new", "notes"])).await;
    assert_eq!(made.status.code(), Some(0), "{:?}", made.stderr);
    let read = |file: &str| fs::read_to_string(home.work().join("notes").join(file)).unwrap();
    let clone = Path::new(CANDOR).canonicalize().unwrap();
    assert!(read("Cargo.toml").contains(&format!("candor = {{ path = {clone:?} }}\n")));
    assert!(!read("Cargo.toml").contains("[workspace]"), "it is outside of the clone");
    assert!(made.stderr[0].contains(clone.to_str().unwrap()), "{:?}", made.stderr);
    let hosts: serde_json::Value = serde_json::from_str(&read(".mcp.json")).unwrap();
    assert_eq!(hosts["mcpServers"]["notes"]["command"], "cargo");
    for file in ["Cargo.toml", "README.md", ".gitignore", ".mcp.json", "src/main.rs"] {
        assert!(!read(file).contains("{{"), "{file} has a placeholder left");
    }
}

/// As a user does after cloning: `cargo run -- new my-server`, then the printed commands.
#[tokio::test]
async fn new_crate_inside_the_clone_is_a_workspace_of_its_own() {
    let clone = Path::new(CLI).join("../..").canonicalize().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-inside");
    if !folder.canonicalize().unwrap_or_else(|_| folder.clone()).starts_with(&clone) {
        return; // CARGO_TARGET_DIR is elsewhere, and a test makes nothing among the sources.
    }
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let mut candor = Command::new(env!("CARGO_BIN_EXE_candor"));
    let made = output(candor.args(["new", "inside-notes"]).current_dir(&folder)).await;
    assert_eq!(made.status.code(), Some(0), "{:?}", made.stderr);
    let folder = folder.join("inside-notes");
    fs::copy(clone.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    cargo(&folder, &["build", "--offline"]).await;
}

/// A folder among the clone's crates would be one of its workspace: cargo would refuse both.
#[tokio::test]
async fn new_crate_among_the_crates_of_the_clone_is_refused() {
    let manifest = fs::read_to_string(Path::new(CLI).join("../../Cargo.toml")).unwrap();
    assert!(manifest.contains(r#"members = ["crates/*""#), "{manifest}");
    let home = Home::new("among");
    home.write("work/Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n");
    home.write("work/crates/candor/Cargo.toml", "[package]\nname = \"candor\"\n");
    let crates = home.work().join("crates");
    let mut inside = home.candor(&["new", "incr", "--candor-path", "candor"]);
    let refused = output(inside.current_dir(&crates)).await;
    assert_eq!(refused.status.code(), Some(1), "{:?}", refused.stderr);
    let told = refused.stderr.join("\n");
    assert!(told.contains("Nothing was created") && told.contains("root of the clone"), "{told}");
    assert!(!crates.join("incr").exists());
    let made = output(&mut home.candor(&["new", "incr", "--candor-path", "."])).await;
    assert_eq!(made.status.code(), Some(0), "{:?}", made.stderr);
    let manifest = fs::read_to_string(home.work().join("incr/Cargo.toml")).unwrap();
    assert!(manifest.contains("\n[workspace]\n"), "{manifest}");
}

/// Without a table of its own, cargo refuses to build a crate that a foreign workspace does not list.
#[tokio::test]
async fn new_crate_in_a_foreign_workspace_is_a_workspace_unless_it_is_a_member() {
    let home = Home::new("foreign");
    home.write("work/Cargo.toml", "[workspace]\nmembers = [\"members/*\"]\nresolver = \"3\"\n");
    for (folder, is_own) in [("", true), ("tools/deep", true), ("members", false)] {
        let folder = home.work().join(folder);
        fs::create_dir_all(&folder).unwrap();
        let made = output(home.candor(&["new", "notes"]).current_dir(&folder)).await;
        assert_eq!(made.status.code(), Some(0), "{:?}", made.stderr);
        let manifest = fs::read_to_string(folder.join("notes/Cargo.toml")).unwrap();
        assert_eq!(manifest.contains("\n[workspace]\n"), is_own, "{folder:?}: {manifest}");
        cargo(&folder.join("notes"), &["locate-project", "--workspace"]).await;
    }
}

#[tokio::test]
async fn new_crate_among_the_crates_of_another_clone_is_refused() {
    let home = Home::new("another clone");
    home.write("work/Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n");
    home.write("work/crates/candor/Cargo.toml", "[package]\nname = \"candor\"\n");
    let crates = home.work().join("crates");
    // It would depend on the clone that built the program.
    let refused = output(home.candor(&["new", "notes"]).current_dir(&crates)).await;
    assert_eq!(refused.status.code(), Some(1), "{:?}", refused.stderr);
    assert!(refused.stderr.join("\n").contains("Nothing was created"), "{:?}", refused.stderr);
    assert!(!crates.join("notes").exists());
}

#[tokio::test]
async fn candor_path_may_be_the_root_of_a_clone() {
    let home = Home::new("clone");
    let clone = Path::new(CANDOR).canonicalize().unwrap().join("../..");
    let made =
        output(&mut home.candor(&["new", "x", "--candor-path", clone.to_str().unwrap()])).await;
    assert_eq!(made.status.code(), Some(0), "{:?}", made.stderr);
    let manifest = fs::read_to_string(home.work().join("x/Cargo.toml")).unwrap();
    let named = Path::new(CANDOR).canonicalize().unwrap();
    assert!(manifest.contains(&format!("candor = {{ path = {named:?} }}")), "{manifest}");
    assert!(!made.stderr.join("\n").contains("registry"), "{:?}", made.stderr);
}

#[tokio::test]
async fn new_refuses_existing_folders_and_invalid_names() {
    let home = Home::new("refused");
    home.write("work/full/kept.txt", "mine");
    home.write("work/plain", "a file");
    fs::create_dir(home.work().join("bare")).unwrap();
    for (args, code, problem) in [
        (&["new", "full"][..], 1, "already exists"),
        (&["new", "plain"], 1, "already exists"),
        (&["new", "fn"], 2, "a word of Rust"),
        (&["new", "../escape"], 2, "it is a path"),
        (&["new", "x", "--candor-path", "/nowhere"], 2, "--candor-path /nowhere"),
        (&["new", "x", "--candor-path", "full"], 2, "the crate candor is not there"),
        // Its program is called candor.
        (&["new", "x", "--candor-path", CLI], 2, "the crate candor is not there"),
    ] {
        let refused = output(&mut home.candor(args)).await;
        assert_eq!(refused.status.code(), Some(code), "{args:?}");
        let told = refused.stderr.join("\n");
        assert!(told.contains(problem), "{args:?}: {told}");
    }
    assert_eq!(fs::read_dir(home.work().join("full")).unwrap().count(), 1);
    assert!(!home.work().join("x").exists(), "a refused crate leaves no folder");
    let made = output(&mut home.candor(&["new", "bare"])).await;
    assert_eq!(made.status.code(), Some(0), "an empty folder is accepted: {:?}", made.stderr);
}

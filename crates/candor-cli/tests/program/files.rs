//! A folder, read through `candor files DIR --stdio`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::messages::{call, initialize, modern, request, text};
use crate::process::{Program, output};
use crate::{candor_files, folder};

const SECRET: &str = "nobody may read this";

/// A folder with a bit of everything, next to something that is not part of it.
fn prepared(name: &str) -> PathBuf {
    let around = folder(name);
    fs::write(around.join("secret.txt"), SECRET).unwrap();
    let root = around.join("served folder, ü");
    fs::create_dir_all(root.join("sub/deeper")).unwrap();
    fs::write(root.join("hello.txt"), "Hello, folder!").unwrap();
    fs::write(root.join("sub/inner.md"), "# Inner").unwrap();
    fs::write(root.join("sub/deeper/100% größer? #1.txt"), "deep").unwrap();
    fs::write(root.join("bytes.bin"), [0xff, 0x00, 0xfe]).unwrap();
    fs::write(root.join(".hidden"), "hidden").unwrap();
    root
}

fn serve(root: &Path) -> Program {
    Program::start(candor_files(root).arg("--stdio"))
}

async fn read_file(program: &mut Program, path: &str) -> Value {
    program.ask(&call(1, "read_file", &json!({"path": path}))).await
}

async fn read_resource(program: &mut Program, uri: &str) -> Value {
    program.ask(&modern(1, "resources/read", &json!({"uri": uri}))).await
}

/// The URIs of the resources, by their names.
async fn listed(program: &mut Program) -> Vec<(String, String)> {
    let mut answer = program.ask(&modern(1, "resources/list", &json!({}))).await;
    let Value::Array(resources) = answer["result"]["resources"].take() else { panic!("{answer}") };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    resources.iter().map(|r| (text(&r["name"]), text(&r["uri"]))).collect()
}

fn assert_refused(answer: &Value, what: &str) {
    assert_eq!(answer["result"]["isError"], true, "{what}: {answer}");
    assert!(text(answer).starts_with(&format!("{what}: ")), "{answer}");
    assert!(!answer.to_string().contains(SECRET), "{what} gave the secret away");
}

#[tokio::test]
async fn a_folder_is_listed_and_its_files_are_read() {
    let mut program = serve(&prepared("listed"));
    let opened = program.ask(&initialize(1)).await;
    assert_eq!(opened["result"]["serverInfo"]["name"], "candor-files");

    let root = program.ask(&call(1, "list_files", &json!({}))).await;
    assert_eq!(
        root["result"]["structuredContent"]["entries"],
        json!([
            {"path": ".hidden", "kind": "file", "size": 6},
            {"path": "bytes.bin", "kind": "file", "size": 3},
            {"path": "hello.txt", "kind": "file", "size": 14},
            {"path": "sub", "kind": "folder", "size": root["result"]["structuredContent"]["entries"][3]["size"]},
        ])
    );
    let sub = program.ask(&call(2, "list_files", &json!({"path": "sub/deeper/"}))).await;
    assert_eq!(
        sub["result"]["structuredContent"]["entries"],
        json!([{"path": "sub/deeper/100% größer? #1.txt", "kind": "file", "size": 4}])
    );

    for (path, content) in [
        ("hello.txt", "Hello, folder!"),
        ("./sub/inner.md", "# Inner"),
        ("sub/../hello.txt", "Hello, folder!"),
        ("sub/deeper/100% größer? #1.txt", "deep"),
    ] {
        assert_eq!(text(&read_file(&mut program, path).await), content, "{path}");
    }
}

#[tokio::test]
async fn nothing_leads_out_of_the_folder() {
    let root = prepared("closed");
    let outside = root.parent().unwrap().join("secret.txt");
    let mut program = serve(&root);
    let absolute = outside.to_str().unwrap();
    for path in ["../secret.txt", "sub/../../secret.txt", absolute, "/etc/passwd"] {
        assert_refused(&read_file(&mut program, path).await, path);
    }
    for path in ["..", "/", "sub/../.."] {
        let answer = program.ask(&call(1, "list_files", &json!({"path": path}))).await;
        assert_refused(&answer, path);
    }
    let base = listed(&mut program).await[0].1.rsplit_once('/').unwrap().0.to_owned();
    for path in ["../secret.txt", "%2e%2e/secret.txt", "..%2Fsecret.txt", "/etc/passwd"] {
        let answer = read_resource(&mut program, &format!("{base}/{path}")).await;
        assert!(answer["error"]["code"].is_i64(), "{path}: {answer}");
    }
    for uri in ["file:///etc/passwd", "http://example.com/", "hello.txt", ""] {
        let answer = read_resource(&mut program, uri).await;
        assert_eq!(answer["error"]["code"], -32602, "{uri}: {answer}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_symbolic_link_is_followed_within_the_folder_and_not_out_of_it() {
    use std::os::unix::fs::symlink;
    let root = prepared("links");
    let outside = root.parent().unwrap();
    symlink("../secret.txt", root.join("out.txt")).unwrap();
    symlink(outside.join("secret.txt"), root.join("absolute.txt")).unwrap();
    symlink(outside, root.join("around")).unwrap();
    symlink("hello.txt", root.join("within.txt")).unwrap();
    let mut program = serve(&root);
    for path in ["out.txt", "absolute.txt", "around/secret.txt"] {
        assert_refused(&read_file(&mut program, path).await, path);
    }
    let listing = program.ask(&call(1, "list_files", &json!({"path": "around"}))).await;
    assert_refused(&listing, "around");
    assert_eq!(text(&read_file(&mut program, "within.txt").await), "Hello, folder!");

    let resources = listed(&mut program).await;
    assert!(resources.iter().all(|(name, _)| !name.contains("secret")), "{resources:?}");
    for (name, uri) in
        resources.iter().filter(|(name, _)| ["out.txt", "absolute.txt"].contains(&name.as_str()))
    {
        let answer = read_resource(&mut program, uri).await;
        assert!(answer["error"]["code"].is_i64(), "{name}: {answer}");
        assert!(!answer.to_string().contains(SECRET), "{name} gave the secret away");
    }
}

#[tokio::test]
async fn files_are_resources_whatever_their_names() {
    let mut program = serve(&prepared("resources"));
    let resources = listed(&mut program).await;
    let names: Vec<_> = resources.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["bytes.bin", "hello.txt", "sub/inner.md", "sub/deeper/100% größer? #1.txt"],
        "nearest first, hidden ones left out"
    );
    for (name, uri) in &resources {
        assert!(uri.starts_with("file:///") && uri.is_ascii(), "{uri}");
        assert!(!uri.contains([' ', '?', '#']), "{uri}");
        let expected = match name.as_str() {
            "bytes.bin" => {
                json!({"uri": uri, "mimeType": "application/octet-stream", "blob": "/wD+"})
            }
            "hello.txt" => json!({"uri": uri, "mimeType": "text/plain", "text": "Hello, folder!"}),
            "sub/inner.md" => json!({"uri": uri, "mimeType": "text/markdown", "text": "# Inner"}),
            _ => json!({"uri": uri, "mimeType": "text/plain", "text": "deep"}),
        };
        let answer = read_resource(&mut program, uri).await;
        assert_eq!(answer["result"]["contents"], json!([expected]), "{name}");
    }
    let bytes = read_file(&mut program, "bytes.bin").await;
    assert_refused(&bytes, "bytes.bin");
    assert!(text(&bytes).contains("read it as a resource"), "{bytes}");
}

#[tokio::test]
async fn a_file_that_is_not_there_is_said_to_be_missing() {
    let mut program = serve(&prepared("missing"));
    assert_refused(&read_file(&mut program, "nowhere.txt").await, "nowhere.txt");
    assert_refused(&read_file(&mut program, "sub").await, "sub");
    let uri = listed(&mut program).await[0].1.replace("bytes.bin", "nowhere.bin");

    let answer = read_resource(&mut program, &uri).await;
    let not_found =
        |code: i64| json!({"code": code, "message": "Resource not found", "data": {"uri": uri}});
    assert_eq!(answer["error"], not_found(-32602), "modern");
    program.ask(&initialize(2)).await;
    let answer = program.ask(&request(3, "resources/read", &json!({"uri": uri}))).await;
    assert_eq!(answer["error"], not_found(-32002), "legacy");
}

#[cfg(unix)]
#[tokio::test]
async fn a_named_pipe_is_no_file_and_holds_nobody_up() {
    let root = prepared("pipe");
    let made = std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap();
    assert!(made.success());
    let mut program = serve(&root);
    for _ in 0..4 {
        assert_refused(&read_file(&mut program, "pipe").await, "pipe");
    }
    assert_eq!(text(&read_file(&mut program, "hello.txt").await), "Hello, folder!");
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_an_error_that_names_it() {
    for transport in ["--stdio", "--http=127.0.0.1:0"] {
        let ended = output(candor_files(Path::new("/nonexistent/folder")).arg(transport)).await;
        assert_eq!(ended.status.code(), Some(1));
        let complaint = ended.stderr.join("\n");
        assert!(complaint.starts_with("error: /nonexistent/folder: "), "{complaint}");
        assert_eq!(ended.stdout, [""; 0]);
    }
    let file = prepared("file").join("hello.txt");
    let ended = output(candor_files(&file).arg("--stdio")).await;
    assert_eq!(ended.status.code(), Some(1));
    assert!(ended.stderr.join("\n").contains("hello.txt: "), "{:?}", ended.stderr);
}

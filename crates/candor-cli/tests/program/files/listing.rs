//! `list_files`: what a folder holds.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::{ERAS, Era, Served, each, manage};

const TOOL: &str = "list_files";

#[tokio::test]
async fn folder_is_listed_with_kinds_sizes_and_times_in_both_eras() {
    let served = Served::prepared("listed");
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(951_782_399_250);
    let file = fs::File::options().write(true).open(served.at("hello.txt")).unwrap();
    file.set_modified(time).unwrap();
    for era in ERAS {
        let mut host = served.to(era, &[]).await;
        let listed = host.structured(TOOL, &json!({})).await;
        assert_eq!(each(&listed["entries"], "path"), ["bytes.bin", "hello.txt", "sub"]);
        assert_eq!(
            listed["entries"][1],
            json!({"path": "hello.txt", "kind": "file", "size": 14, "modified": "2000-02-28T23:59:59.250Z"})
        );
        let sub = &listed["entries"][2];
        assert_eq!((&sub["kind"], &sub["size"]), (&json!("folder"), &Value::Null));
        assert!(sub["modified"].is_string(), "{sub}");
        assert_eq!(listed.get("next"), None, "there is no next page");

        for path in ["sub/deeper", "./sub//deeper/"] {
            let deeper = host.structured(TOOL, &json!({"path": path})).await;
            assert_eq!(each(&deeper["entries"], "path"), ["sub/deeper/100% größer? #1.txt"]);
        }
        host.refused(TOOL, &json!({"path": "hello.txt"}), "not_a_folder").await;
        host.refused(TOOL, &json!({"path": "nowhere"}), "not_found").await;
        host.refused(TOOL, &json!({"path": ".config"}), "not_found").await;
    }
}

#[tokio::test]
async fn hidden_names_are_listed_with_the_hidden_flag() {
    let served = Served::prepared("hidden");
    for flags in [&["--hidden"][..], &["--hidden", "--read-only"]] {
        let mut host = served.to(Era::Modern, flags).await;
        let listed = host.structured(TOOL, &json!({})).await;
        assert_eq!(
            each(&listed["entries"], "path"),
            [".config", ".hidden", "bytes.bin", "hello.txt", "sub"]
        );
        let inner = host.structured(TOOL, &json!({"path": ".config"})).await;
        assert_eq!(each(&inner["entries"], "path"), [".config/inner.txt"]);
    }
    let mut command = served.command(&["--stdio"]);
    let mut host = super::Host::of(command.env("CANDOR_HIDDEN", "1"), Era::Legacy).await;
    assert_eq!(host.done("manage_files", &manage("read", ".hidden")).await, "hidden");
}

#[tokio::test]
async fn large_folder_is_listed_page_by_page() {
    let served = Served::empty("pages");
    // The last name of a page needs escapes.
    let mut names: Vec<String> = (0..2005).map(|n| format!("{n:04} ä%41.txt")).collect();
    for name in &names {
        served.write(name, "");
    }
    for era in ERAS {
        let mut host = served.to(era, &[]).await;
        let mut arguments = json!({});
        let mut pages: Vec<Vec<String>> = Vec::new();
        loop {
            let listed = host.structured(TOOL, &arguments).await;
            pages.push(each(&listed["entries"], "path").iter().map(|&p| p.to_owned()).collect());
            let Some(next) = listed.get("next") else { break };
            arguments = json!({"after": next});
        }
        let sizes: Vec<_> = pages.iter().map(Vec::len).collect();
        assert_eq!(sizes, [1000, 1000, 5]);
        assert_eq!(pages.concat(), names, "in order, and each of them once");
    }
    // The page after a deleted name is still found.
    let mut host = served.serve().await;
    let next = host.structured(TOOL, &json!({})).await["next"].take();
    fs::remove_file(served.at(&names[999])).unwrap();
    let listed = host.structured(TOOL, &json!({"after": next})).await;
    assert_eq!(each(&listed["entries"], "path"), &names.split_off(1000)[..1000]);
    let told = host.refused(TOOL, &json!({"after": "50%"}), "bad_path").await;
    assert!(told.contains("%25"), "{told}");
}

#[cfg(unix)]
#[tokio::test]
async fn links_and_pipes_are_listed_by_kind() {
    use std::os::unix::fs::symlink;
    let served = Served::prepared("kinds");
    let made = std::process::Command::new("mkfifo").arg(served.at("pipe")).status().unwrap();
    assert!(made.success());
    symlink("hello.txt", served.at("link to file")).unwrap();
    symlink("sub", served.at("link to folder")).unwrap();
    symlink("nowhere", served.at("link to nothing")).unwrap();
    symlink("..", served.at("link up")).unwrap();
    symlink("circle", served.at("circle")).unwrap();
    symlink(".hidden", served.at("link to hidden")).unwrap();
    let mut host = served.serve().await;
    let listed = host.structured(TOOL, &json!({})).await;
    let entries = listed["entries"].as_array().unwrap().iter();
    let kinds: Vec<_> =
        entries.map(|e| (e["path"].as_str().unwrap(), e["kind"].as_str().unwrap())).collect();
    assert_eq!(
        kinds,
        [
            ("bytes.bin", "file"),
            ("circle", "dangling_link"),
            ("hello.txt", "file"),
            ("link to file", "file"),
            ("link to folder", "folder"),
            ("link to hidden", "dangling_link"),
            ("link to nothing", "dangling_link"),
            ("link up", "dangling_link"),
            ("pipe", "pipe"),
            ("sub", "folder"),
        ]
    );
    let inner = host.structured(TOOL, &json!({"path": "link to folder"})).await;
    assert_eq!(
        each(&inner["entries"], "path"),
        ["link to folder/deeper", "link to folder/inner.md"]
    );
    host.refused(TOOL, &json!({"path": "circle"}), "leads_nowhere").await;
}

/// Names that are not UTF-8, or that print differently from how they are written, have a URI.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn unprintable_file_name_has_a_uri_that_reads_the_file() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let served = Served::empty("odd names");
    let odd: [(&[u8], &str); 4] = [
        (b"bad \xff\xfe.txt", r"bad \xff\xfe.txt"),
        (b"line\nbreak", r"line\u{a}break"),
        (b"\xe2\x80\xaetxt.exe", r"\u{202e}txt.exe"),
        (b"\x1b[2J", r"\u{1b}[2J"),
    ];
    for (name, shown) in &odd {
        fs::write(served.at(OsStr::from_bytes(name)), format!("content of {shown}")).unwrap();
    }
    let plain = [r"looks \xff odd", "50%", "a:b", "näh", "a\\..\\b", "%2e%2e"];
    for name in plain {
        served.write(name, format!("content of {name}"));
    }
    for era in ERAS {
        let mut host = served.to(era, &[]).await;
        let listed = host.structured(TOOL, &json!({})).await;
        let entries = listed["entries"].as_array().unwrap();
        assert_eq!(entries.len(), odd.len() + plain.len());
        for entry in entries {
            let path = entry["path"].as_str().unwrap();
            let content = format!("content of {path}");
            if plain.contains(&path) {
                assert_eq!(entry.get("uri"), None, "{path} needs no URI");
                assert_eq!(host.done("manage_files", &manage("read", path)).await, content);
            } else {
                assert!(odd.iter().any(|(_, shown)| *shown == path), "{entry}");
                let read = host.result("resources/read", &json!({"uri": entry["uri"]})).await;
                assert_eq!(read["contents"][0]["text"], content);
            }
        }
    }
}

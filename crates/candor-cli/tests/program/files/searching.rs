//! `search_files`: by name, by text, by both.

use serde_json::{Value, json};

use super::{ERAS, Era, Served, each};

const TOOL: &str = "search_files";

fn library(name: &str) -> Served {
    let served = Served::empty(name);
    served.write("README.md", "Title\n\nA needle here, and a needle there\nand a Needle\n");
    served.write("src/main.rs", "fn main() {}\n// needle\r\n");
    served.write("src/deep/er/lib.rs", "nothing\n");
    served.write("src/notes.txt", "needle\n");
    served.write("needle.bin", b"needle\0\xff");
    served.write(".git/needle", "needle\n");
    served
}

#[tokio::test]
async fn files_are_found_by_name_by_text_and_by_both_in_both_eras() {
    let served = library("searched");
    for era in ERAS {
        let mut host = served.to(era, &[]).await;
        for (arguments, paths) in [
            (json!({"name": "*.rs"}), &["src/deep/er/lib.rs", "src/main.rs"][..]),
            (json!({"name": "src/*.rs"}), &["src/main.rs"]),
            (
                json!({"name": "src/**/*.{rs,txt}"}),
                &["src/deep/er/lib.rs", "src/main.rs", "src/notes.txt"],
            ),
            (json!({"name": "*.rs", "path": "src/deep"}), &["src/deep/er/lib.rs"]),
            (json!({"name": "er"}), &["src/deep/er"]),
            (json!({"name": "readme.md"}), &[]),
            (json!({"name": "readme.md", "ignore_case": true}), &["README.md"]),
            (json!({"name": "needle*"}), &["needle.bin"]),
            (json!({"text": "needle"}), &["README.md", "src/main.rs", "src/notes.txt"]),
            (json!({"text": "needle", "path": "src/notes.txt"}), &["src/notes.txt"]),
            (json!({"text": "needle", "name": "*.rs"}), &["src/main.rs"]),
            (json!({"text": "nowhere to be found"}), &[]),
        ] {
            let found = host.structured(TOOL, &arguments).await;
            assert_eq!(each(&found["matches"], "path"), paths, "{arguments}");
            assert_eq!(found["complete"], true, "{arguments}");
        }
        let kinds = host.structured(TOOL, &json!({"name": "*e*", "path": "src/deep"})).await;
        assert_eq!(kinds["matches"], json!([{"path": "src/deep/er", "kind": "folder"}]));
    }
}

#[tokio::test]
async fn text_match_has_its_line_number_and_excerpt() {
    let served = library("lines");
    served.write("long.txt", format!("{}needle{}", "ä".repeat(5000), "ö".repeat(5000)));
    let mut host = served.serve().await;
    let line = |line: u64, excerpt: &str| json!({"path": "README.md", "kind": "file", "line": line, "excerpt": excerpt});
    let arguments = json!({"text": "needle", "path": "README.md"});
    let found = host.structured(TOOL, &arguments).await;
    let first = line(3, "A needle here, and a needle there");
    assert_eq!(found["matches"], json!([first]));
    let folded = json!({"text": "NEEDLE", "path": "README.md", "ignore_case": true});
    let found = host.structured(TOOL, &folded).await;
    assert_eq!(found["matches"], json!([first, line(4, "and a Needle")]));
    let found = host.structured(TOOL, &json!({"text": "needle", "name": "main.rs"})).await;
    assert_eq!(found["matches"][0]["excerpt"], "// needle", "without the end of the line");
    let found = host.structured(TOOL, &json!({"text": "needle", "name": "long.txt"})).await;
    let excerpt = found["matches"][0]["excerpt"].as_str().unwrap();
    assert!(excerpt.contains("needle") && excerpt.chars().count() < 300, "{excerpt}");
}

#[tokio::test]
async fn invalid_search_is_refused_with_advice() {
    let served = library("refused search");
    let mut host = served.serve().await;
    let neither = host.refused(TOOL, &json!({"path": "src"}), "no_query").await;
    assert!(neither.contains("a name, a text, or both"), "{neither}");
    for pattern in ["[", "", "{a"] {
        let told = host.refused(TOOL, &json!({"name": pattern}), "bad_pattern").await;
        assert!(told.contains("/name") && told.contains("pattern"), "{pattern}: {told}");
        assert!(told.starts_with(char::is_uppercase), "{told}");
    }
    for arguments in [
        json!({"text": ""}),
        json!({"text": "x", "limit": 0}),
        json!({"text": "x", "limit": 1001}),
        json!({"text": "x".repeat(1001)}),
        json!({"text": "x", "regex": true}),
    ] {
        host.refused(TOOL, &arguments, "invalid_arguments").await;
    }
    host.refused(TOOL, &json!({"text": "x", "path": "nowhere"}), "not_found").await;
    host.refused(TOOL, &json!({"text": "x", "path": ".git"}), "not_found").await;
}

#[tokio::test]
async fn search_reports_whether_it_is_complete() {
    let served = Served::empty("limited");
    for n in 0..120 {
        served.write(&format!("{n:03}.txt"), "same\nsame\n");
    }
    let mut host = served.serve().await;
    for (arguments, count, complete) in [
        (json!({"name": "*"}), 100, false),
        (json!({"name": "*", "limit": 7}), 7, false),
        (json!({"name": "*", "limit": 120}), 120, true),
        (json!({"text": "same", "limit": 3}), 3, false),
        (json!({"text": "same", "limit": 1000}), 240, true),
    ] {
        let found = host.structured(TOOL, &arguments).await;
        assert_eq!(found["matches"].as_array().unwrap().len(), count, "{arguments}");
        assert_eq!(found["complete"], complete, "{arguments}");
    }
}

#[tokio::test]
async fn hidden_files_are_searched_with_the_hidden_flag() {
    let served = library("hidden search");
    let mut host = served.to(Era::Modern, &["--hidden", "--read-only"]).await;
    let found = host.structured(TOOL, &json!({"text": "needle", "name": ".git/**"})).await;
    assert_eq!(each(&found["matches"], "path"), [".git/needle"]);
}

/// A match can be read, whatever its name.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn match_with_an_unprintable_name_has_a_uri() {
    use std::os::unix::ffi::OsStrExt;
    let served = library("odd match");
    let odd = std::ffi::OsStr::from_bytes(b"odd \xff.txt");
    std::fs::write(served.at("src").join(odd), "a strange needle").unwrap();
    let mut host = served.serve().await;
    for arguments in [json!({"text": "strange"}), json!({"name": "odd*"})] {
        let found = host.structured(TOOL, &arguments).await;
        let [found] = &found["matches"].as_array().unwrap()[..] else { panic!("{found}") };
        assert_eq!(found["path"], r"src/odd \xff.txt");
        let read = host.result("resources/read", &json!({"uri": found["uri"]})).await;
        assert_eq!(read["contents"][0]["text"], "a strange needle");
    }
    let plain = host.structured(TOOL, &json!({"name": "notes.txt"})).await;
    assert_eq!(plain["matches"][0].get("uri"), None, "its path is enough");
}

/// So much to read that a search takes seconds, on a disk that holds a sixtieth of it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn cancelled_search_stops_without_a_response() {
    const FILES: u64 = 60;
    let served = Served::empty("cancelled");
    let line = "Franz jagt im komplett verwahrlosten Taxi quer durch Bayern. ÄÖÜÄÖÜÄÖÜÄÖÜ\n";
    let large = line.repeat(4_000_000 / line.len());
    served.write("0.txt", &large);
    for n in 1..FILES {
        std::fs::hard_link(served.at("0.txt"), served.at(format!("{n}.txt"))).unwrap();
    }
    let all = FILES * large.len() as u64;
    for era in ERAS {
        let mut host = served.to(era, &[]).await;
        let arguments = json!({"text": "not in there", "ignore_case": true});
        let search = json!({"name": TOOL, "arguments": arguments});
        let id = host.send("tools/call", &search).await;
        // The search has started once it has read something.
        while bytes_read(&host) < large.len() as u64 {
            tokio::task::yield_now().await;
        }
        host.notify("notifications/cancelled", &json!({"requestId": id})).await;
        let listed = host.structured("list_files", &json!({})).await;
        assert_eq!(listed["entries"].as_array().unwrap().len() as u64, FILES);
        let read = loop {
            let before = bytes_read(&host);
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
            if bytes_read(&host) == before {
                break before;
            }
        };
        assert!(read + large.len() as u64 <= all, "{read} of {all} bytes");
        host.program.close_stdin();
        let ended = host.program.ended().await;
        let answered = |line: &String| {
            let message: Value = serde_json::from_str(line).unwrap();
            message["id"] == id
        };
        assert!(!ended.stdout.iter().any(answered), "{:?}", ended.stdout);
    }
}

/// How many bytes the program has read of whatever files.
#[cfg(target_os = "linux")]
fn bytes_read(host: &super::Host) -> u64 {
    let counted = std::fs::read_to_string(format!("/proc/{}/io", host.program.id())).unwrap();
    let read = counted.lines().find_map(|line| line.strip_prefix("rchar: "));
    read.unwrap().parse().unwrap()
}

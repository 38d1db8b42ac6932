//! What is large is described without being read. Alone in its process, because the system counts for a whole process.
#![cfg(target_os = "linux")]

mod common;

use std::fs;

use candor_files::Directory;
use candor_server::Server;
use common::Scratch;
use serde_json::json;

const SIZE: u64 = 1 << 30;
const NAMES: [&str; 3] = ["film.mp4", "blob", "table.unknown"];
const TIMES: u64 = 50;
/// For everything else that is read meanwhile, such as these numbers themselves and the system's news. Less than a look at
/// the first 512 bytes of one of them, every time, would be.
const ASIDE: u64 = 16 * 1024;

/// How many bytes this process has had from `read` and its like.
fn bytes_read() -> u64 {
    let io = fs::read_to_string("/proc/self/io").unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.parse().unwrap()
}

#[tokio::test]
async fn large_file_is_listed_without_reading_its_content() {
    let scratch = Scratch::new();
    for name in NAMES {
        fs::File::create(scratch.inside(name)).unwrap().set_len(SIZE).unwrap();
    }
    let server = || {
        let directory = Directory::open(scratch.inside("")).unwrap().at("docs:///");
        Server::new("files", "1.0.0").resources(directory)
    };
    for client in [server().test(), server().test_legacy()] {
        client.resources().await;
        let before = bytes_read();
        for _ in 0..TIMES {
            for name in NAMES {
                let params = json!({"uri": format!("docs:///{name}")});
                let described = client.request("resources/metadata", params).await.unwrap();
                assert_eq!(described["resource"]["size"], SIZE);
            }
            for params in [json!({}), json!({"uri": "docs:///"})] {
                let listed = client.request("resources/list", params).await.unwrap();
                let listed = listed["resources"].as_array().unwrap();
                assert_eq!(
                    listed.iter().filter(|child| child["size"] == SIZE).count(),
                    NAMES.len()
                );
            }
        }
        let read = bytes_read() - before;
        assert!(read < ASIDE, "{read} bytes were read");

        for name in NAMES {
            let before = bytes_read();
            let error = client.try_read(&format!("docs:///{name}")).await.unwrap_err();
            let words = format!("`{name}` is too large: {SIZE} bytes, and 4194304 are allowed");
            assert!(error.message.contains(&words), "{}", error.message);
            assert!(bytes_read() - before < ASIDE, "it was read before it was refused");
        }
        let folder = client.request("resources/read", json!({"uri": "docs:///"})).await.unwrap();
        assert_eq!(folder["contents"], json!([]));
        assert_eq!(folder["_meta"]["dev.candor/resource"]["subset"], true);
        assert!(bytes_read() - before < 2 * ASIDE);
    }
}

//! A ledger file that is deleted or replaced under a running server: nothing runs that the next server would not know of.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::http::{ask, post};
use crate::messages::{modern, text};
use crate::process::Program;
use crate::{candor_files, folder};

struct Site {
    served: PathBuf,
    ledger: PathBuf,
    program: Program,
    address: String,
}

impl Site {
    async fn start(around: &Path) -> Self {
        let (served, ledger) = (around.join("served"), around.join("ledger.db"));
        fs::create_dir_all(&served).unwrap();
        let mut command = candor_files(&served);
        command.args(["--http", "127.0.0.1:0", "--ledger"]);
        command.arg(format!("sqlite:{}", ledger.display()));
        let mut program = Program::start(&mut command);
        let address = program.listening().await;
        Self { served, ledger, program, address }
    }

    /// Appends a line to a file.
    async fn append(&self, key: Option<&str>, line: &str) -> Value {
        let arguments = json!({"path": "log.txt", "action": "append", "content": line});
        let params = json!({"name": "manage_files", "arguments": arguments});
        let mut call = modern(1, "tools/call", &params);
        if let Some(key) = key {
            call["params"]["_meta"]["dev.candor/idempotencyKey"] = key.into();
        }
        post(&self.address, &call, &[]).await.json()
    }

    async fn refuses(&self, key: Option<&str>) {
        let answer = self.append(key, "lost\n").await;
        let code = &answer["result"]["_meta"]["dev.candor/error"]["code"];
        assert_eq!(code, "ledger_unavailable", "{answer}");
        assert!(text(&answer).contains("Nothing was run."), "{answer}");
    }

    async fn readiness(&self) -> u16 {
        ask(&self.address, "GET", "/readyz", &[], "").await.status
    }

    fn written(&self) -> String {
        fs::read_to_string(self.served.join("log.txt")).unwrap()
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        PathBuf::from(format!("{}{suffix}", self.ledger.display()))
    }
}

fn replayed(answer: &Value) -> bool {
    answer["result"]["_meta"]["dev.candor/idempotency"]["replayed"] == true
}

#[tokio::test]
async fn ledger_deleted_or_replaced_refuses_calls_until_the_server_restarts() {
    for harm in ["rm", "mv", "rm -wal", "rm -shm"] {
        let around = folder(&format!("ledger gone, {harm}"));
        let mut site = Site::start(&around).await;
        assert_eq!(
            text(&site.append(Some("k1"), "one\n").await),
            "Appended 4 bytes to log.txt, which is new"
        );
        assert_eq!(site.readiness().await, 200);
        match harm {
            "rm" => fs::remove_file(&site.ledger).unwrap(),
            "mv" => {
                let other = around.join("other.db");
                fs::write(&other, "").unwrap();
                fs::rename(other, &site.ledger).unwrap();
            }
            other => fs::remove_file(site.beside(other.strip_prefix("rm ").unwrap())).unwrap(),
        }
        for key in [Some("k2"), Some("k3"), None] {
            site.refuses(key).await;
        }
        assert_eq!(site.written(), "one\n", "{harm}");
        assert_eq!(site.readiness().await, 503, "{harm}");
        // An earlier record still replays, whatever file is there now.
        assert!(replayed(&site.append(Some("k1"), "one\n").await), "{harm}");
        let error = site.program.complaint().await;
        assert!(
            error.contains("ERROR") && error.contains("ledger.db was deleted or replaced"),
            "{error}"
        );

        site.program.terminate();
        let log = site.program.ended().await.stderr;
        assert!(
            !log.iter().any(|line| line.contains("ERROR")),
            "one line, not one per call: {log:?}"
        );
        let site = Site::start(&around).await;
        assert_eq!(site.readiness().await, 200);
        assert!(!replayed(&site.append(Some("k2"), "two\n").await));
        assert!(replayed(&site.append(Some("k2"), "two\n").await));
        assert_eq!(site.written(), "one\ntwo\n", "{harm}");
    }
}

//! Two processes of the server at once, on one ledger file.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// More than the ledger's own checkpoints need: each call is two commits.
const ORDERS: usize = 150;

struct Replica {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Replica {
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_neighbor"))
            .args(["--stdio", "--ledger"])
            .arg(format!("sqlite:{}", folder.join("ledger.db").display()))
            .env("SHOP", folder.join("shop.db"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut replica = Self { child, input, output };
        let client = json!({"name": "test", "version": "1"});
        let hello =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        replica.send("initialize", &hello);
        replica.receive();
        replica
    }

    fn send(&mut self, method: &str, params: &Value) {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        writeln!(self.input, "{request}").unwrap();
    }

    fn receive(&mut self) -> Value {
        let line = self.output.next().expect("the server answers").unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], 1, "{answer}");
        answer["result"].clone()
    }

    fn order(&mut self, number: usize) {
        let arguments =
            json!({"item": format!("item {number}"), "idempotency_key": format!("order-{number}")});
        self.send("tools/call", &json!({"name": "add_order", "arguments": arguments}));
    }

    fn ordered(&mut self) -> i64 {
        let result = self.receive();
        result["structuredContent"]["result"].as_i64().unwrap_or_else(|| panic!("{result}"))
    }

    fn count(&mut self) -> i64 {
        self.send("tools/call", &json!({"name": "count_orders", "arguments": {}}));
        self.ordered()
    }

    fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().unwrap().success());
    }
}

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_PKG_NAME"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn replicas_on_one_ledger_run_each_key_once() {
    let folder = folder();
    let mut replicas = [Replica::start(&folder), Replica::start(&folder)];
    let mut first = Vec::new();
    for number in 0..ORDERS {
        for replica in &mut replicas {
            replica.order(number);
        }
        let [left, right] = &mut replicas;
        let ids = [left.ordered(), right.ordered()];
        assert_eq!(ids[0], ids[1], "order {number}");
        first.push(ids[0]);
    }
    for mut replica in replicas {
        assert_eq!(replica.count(), ORDERS as i64);
        replica.end();
    }

    let mut later = Replica::start(&folder);
    for (number, id) in first.into_iter().enumerate() {
        later.order(number);
        assert_eq!(later.ordered(), id, "order {number} is replayed");
    }
    assert_eq!(later.count(), ORDERS as i64);
    later.end();
}

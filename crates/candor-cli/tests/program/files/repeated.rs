//! Large text that only repeats structured content: left out for clients that declare `dev.candor/structured-content`.

use serde_json::{Value, json};

use super::Served;
use crate::messages::{call, initialize, request};
use crate::process::Program;

const DECLARED: &str = "dev.candor/structured-content";

fn read(id: u64, path: &str, extensions: &Value, key: Option<&str>) -> Value {
    let mut message = call(id, "manage_files", &json!({"path": path, "action": "read"}));
    let meta = &mut message["params"]["_meta"];
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"extensions": extensions});
    if let Some(key) = key {
        meta["dev.candor/idempotencyKey"] = key.into();
    }
    message
}

#[tokio::test]
async fn repeated_text_is_left_out_for_clients_that_declare_it() {
    let served = Served::prepared("repeated");
    let (large, small) = ("\"ü\n".repeat(16_000), "x".repeat(63_999));
    served.write("large.txt", &large);
    served.write("small.txt", &small);
    let mut program = Program::start(served.command(&["--stdio"]).arg("--ledger").arg("memory:"));
    // The first call runs, and the second replays from the ledger.
    for replayed in [false, true] {
        for (extensions, omits) in [
            (json!({}), false),
            (json!({"dev.candor/idempotency": {}}), false),
            (json!({(DECLARED): {}}), true),
        ] {
            let key = if omits { "declared" } else { "not" };
            let answer = program.ask(&read(1, "large.txt", &extensions, Some(key))).await;
            let result = &answer["result"];
            assert_eq!(result["structuredContent"], json!({"result": large}));
            let told = &result["_meta"][DECLARED];
            if omits {
                assert_eq!(result["content"], json!([]));
                assert_eq!(*told, json!({"textOmitted": true, "box": "result"}));
            } else {
                assert_eq!(result["content"], json!([{"type": "text", "text": large}]));
                assert_eq!(*told, Value::Null);
            }
            if replayed {
                assert_eq!(result["_meta"]["dev.candor/idempotency"]["replayed"], true);
            }
            let answer = program.ask(&read(2, "small.txt", &extensions, None)).await;
            assert_eq!(answer["result"]["content"][0]["text"], small, "less than 64 kB stays");
        }
    }
}

/// The legacy era has no such declaration: hosts of it show the text.
#[tokio::test]
async fn repeated_text_stays_in_the_legacy_era() {
    let served = Served::prepared("repeated, legacy");
    let large = "x".repeat(100_000);
    served.write("large.txt", &large);
    let mut program = Program::start(&mut served.command(&["--stdio"]));
    let mut hello = initialize(0);
    hello["params"]["capabilities"] = json!({"extensions": {(DECLARED): {}}});
    program.ask(&hello).await;
    let arguments = json!({"path": "large.txt", "action": "read"});
    let params = json!({"name": "manage_files", "arguments": arguments});
    let answer = program.ask(&request(1, "tools/call", &params)).await;
    assert_eq!(answer["result"]["content"][0]["text"], large);
}

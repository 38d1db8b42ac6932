//! Compiles schemas that a server sent. A server may be untrusted, and a schema may take long to compile. Schemas that may take
//! long are compiled on their own thread, so that all other work continues.

use std::sync::Arc;
use std::thread;

use candor_schema::Schema;
use serde_json::Value;
use tokio::sync::oneshot;

/// A longer schema, in bytes, may take long.
const LARGE: usize = 64 * 1024;

pub(crate) async fn compile(schema: &Value) -> Result<Arc<Schema>, String> {
    let text = schema.to_string();
    let compile = |text: &str| Schema::compile(text).map_err(|error| error.to_string());
    // Among shorter schemas, only those with patterns may take long.
    if text.len() <= LARGE && !text.contains("\"pattern") {
        return compile(&text);
    }
    let (tell, told) = oneshot::channel();
    // Not a task of the runtime: the runtime would wait for it at shutdown.
    thread::spawn(move || tell.send(compile(&text)));
    told.await.unwrap_or_else(|_| Err("it cannot be compiled".to_owned()))
}

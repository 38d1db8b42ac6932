//! Compiling what a server sent as a schema. It is a stranger's, and may be made to take long: what may is done beside us, so that
//! everybody else goes on.

use std::sync::Arc;
use std::thread;

use candor_schema::Schema;
use serde_json::Value;
use tokio::sync::oneshot;

/// What is longer may take long.
const LARGE: usize = 64 * 1024;

pub(crate) async fn compile(schema: &Value) -> Result<Arc<Schema>, String> {
    let text = schema.to_string();
    let compile = |text: &str| Schema::compile(text).map_err(|error| error.to_string());
    // Of what is shorter, only patterns do.
    if text.len() <= LARGE && !text.contains("\"pattern") {
        return compile(&text);
    }
    let (tell, told) = oneshot::channel();
    // Not a task of the runtime, which would wait for it at the end.
    thread::spawn(move || tell.send(compile(&text)));
    told.await.unwrap_or_else(|_| Err("it cannot be compiled".to_owned()))
}

use candor::prelude::*;

/// Greets by name.
#[tool(reads)]
async fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

mod notes {
    /// Counts the notes.
    pub async fn count() -> usize {
        0
    }
}

fn main() {
    let _ = Server::new("greeter", "1.0.0").tools(tools![greet, notes::count]);
}

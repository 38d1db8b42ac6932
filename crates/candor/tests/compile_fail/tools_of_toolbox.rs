use candor::prelude::*;

struct Greeter;

#[toolbox]
impl Greeter {
    /// Greets somebody.
    #[tool(reads)]
    async fn greet(&self, name: String) -> String {
        format!("Hello, {name}!")
    }
}

fn main() {
    let _ = Server::new("greeter", "1.0.0").tools(tools![Greeter]);
}

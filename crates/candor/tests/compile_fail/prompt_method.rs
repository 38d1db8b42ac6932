use candor::prelude::*;

struct Greeter;

impl Greeter {
    /// Asks for a greeting.
    #[prompt]
    fn greet(&self) -> String {
        "Greet.".to_owned()
    }
}

fn main() {
    let _ = Greeter.greet();
}

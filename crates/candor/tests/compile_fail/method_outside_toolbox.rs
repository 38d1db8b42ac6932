use candor::prelude::*;

struct Notes(Vec<String>);

impl Notes {
    #[tool(reads)]
    fn count(&self) -> usize {
        self.0.len()
    }
}

fn main() {
    let _ = Notes(Vec::new()).count();
}

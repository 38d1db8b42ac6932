use candor::prelude::*;

struct Notes(Vec<String>);

#[tool(reads)]
impl Notes {
    fn count(&self) -> usize {
        self.0.len()
    }
}

fn main() {
    let _ = Notes(Vec::new()).count();
}

use candor::prelude::*;

struct Notes(Vec<String>);

#[tool(read_only)]
impl Notes {
    fn count(&self) -> usize {
        self.0.len()
    }
}

fn main() {
    let _ = Notes(Vec::new()).count();
}

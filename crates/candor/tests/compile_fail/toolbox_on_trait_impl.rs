use candor::prelude::*;

trait Count {
    fn count(&self) -> usize;
}

struct Notes(Vec<String>);

#[toolbox]
impl Count for Notes {
    #[tool(reads)]
    fn count(&self) -> usize {
        self.0.len()
    }
}

fn main() {
    let _ = Notes(Vec::new()).count();
}

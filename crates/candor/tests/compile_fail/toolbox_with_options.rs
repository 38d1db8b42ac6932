use candor::prelude::*;

struct Notes(Vec<String>);

#[toolbox(reads)]
impl Notes {
    #[tool(reads)]
    fn count(&self) -> usize {
        self.0.len()
    }
}

fn main() {
    let _ = Notes(Vec::new()).into_tools();
}

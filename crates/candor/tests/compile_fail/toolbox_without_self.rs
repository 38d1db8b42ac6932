use candor::prelude::*;

struct Notes(Vec<String>);

#[toolbox]
impl Notes {
    #[tool(reads)]
    fn count(items: Vec<String>) -> usize {
        items.len()
    }
}

fn main() {
    let _ = Notes(Vec::new()).into_tools();
}

use candor::prelude::*;

struct Notes(Vec<String>);

#[toolbox]
impl Notes {
    #[tool]
    fn count(&self) -> usize {
        self.0.len()
    }

    #[tool(reads)]
    fn find(&self, word: &str) -> bool {
        self.0.iter().any(|note| note.contains(word))
    }
}

fn main() {
    let _ = Notes(Vec::new()).into_tools();
}

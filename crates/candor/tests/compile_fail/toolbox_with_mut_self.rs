use candor::prelude::*;

struct Notes(Vec<String>);

#[toolbox]
impl Notes {
    #[tool(unclassified)]
    fn add(&mut self, text: String) -> usize {
        self.0.push(text);
        self.0.len()
    }
}

fn main() {
    let _ = Notes(Vec::new()).into_tools();
}

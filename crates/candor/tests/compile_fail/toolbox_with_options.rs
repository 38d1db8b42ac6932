use candor::prelude::*;

struct Notes(Vec<String>);

#[toolbox(read_only)]
impl Notes {
    #[tool(read_only)]
    fn count(&self) -> usize {
        self.0.len()
    }
}

fn main() {
    let _ = Notes(Vec::new()).into_tools();
}

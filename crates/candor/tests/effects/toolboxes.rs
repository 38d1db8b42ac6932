//! Effects of methods.

use std::sync::Mutex;

use candor::json;
use candor::prelude::*;

use crate::{Tools, adds, expect, expect_static, hints, reads, worst};

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

#[candor::args]
enum Change {
    #[effect(adds)]
    Add,
    #[effect(deletes, idempotent)]
    Clear,
}

#[toolbox]
impl Notes {
    #[tool(reads, closed_world)]
    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    #[tool(effects(by = change), closed_world)]
    fn change(&self, change: Change, text: String) {
        let mut notes = self.0.lock().unwrap();
        match change {
            Change::Add => notes.push(text),
            Change::Clear => notes.clear(),
        }
    }

    #[tool(effects(at.at_most(9) => reads, otherwise => adds))]
    fn look(&self, at: u32) -> u32 {
        at
    }

    #[tool(effects = Self::of_text, at_most(deletes))]
    fn run(&self, text: String) -> String {
        text
    }

    fn of_text(text: &str) -> Hints {
        if text == "look" { Hints::READS } else { Hints::DELETES }
    }
}

fn notes() -> Tools {
    Notes::default().into_tools()
}

#[tokio::test]
async fn methods_declare_effects_like_functions() {
    let change = |change: &str| json!({"change": change, "text": "a"});
    let (add, clear) = (hints(false, false, false, false), hints(false, true, true, false));
    expect(notes, "change", [(change("add"), add), (change("clear"), clear)]).await;
    expect_static(notes, "change", &hints(false, true, false, false)).await;
    expect(notes, "look", [(json!({"at": 9}), reads()), (json!({"at": 10}), adds())]).await;
    expect_static(notes, "look", &adds()).await;
    expect(notes, "run", [(json!({"text": "look"}), reads()), (json!({"text": "x"}), worst())])
        .await;
    expect(notes, "count", [(json!({}), hints(true, false, true, false))]).await;
}

//! Functions and methods that are tools stay functions and methods.

use std::sync::{Arc, Mutex};

use candor::json;
use candor::prelude::*;

use crate::ways::Ways;
use crate::{both, call, server};

/// Doubles.
#[tool(reads)]
fn double(number: i64) -> i64 {
    number * 2
}

#[tool(reads)]
async fn wait_and_double(#[default(21)] number: i64) -> i64 {
    tokio::task::yield_now().await;
    double(number)
}

mod deep {
    pub(crate) mod down {
        use candor::prelude::tool;

        #[tool(reads)]
        pub(crate) fn triple(number: i64) -> i64 {
            number * 3
        }
    }
}

#[tokio::test]
async fn functions_are_registered_by_their_paths() {
    for client in both(|| tools![double, wait_and_double, deep::down::triple]) {
        let names: Vec<_> = client.tools().await.into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["double", "wait_and_double", "triple"]);
        assert_eq!(call(&client, "double", json!({"number": 4})).await.text(), "8");
        assert_eq!(call(&client, "wait_and_double", json!({})).await.text(), "42");
        assert_eq!(call(&client, "triple", json!({"number": 4})).await.text(), "12");
    }
}

#[tokio::test]
async fn tool_function_stays_callable() {
    assert_eq!(double(4) + deep::down::triple(1), 11);
    assert_eq!(wait_and_double(3).await, 6);
    let numbers: Vec<i64> = [1, 2].into_iter().map(double).collect();
    assert_eq!(numbers, [2, 4]);
}

#[tokio::test]
async fn declared_effect_is_published_as_hints() {
    let client = server(tools![double]).test();
    let annotations = client.tool("double").await.annotations.unwrap();
    let all = json!({
        "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": true,
    });
    assert_eq!(serde_json::to_value(&annotations).unwrap(), all);
}

#[tokio::test]
async fn tool_may_be_defined_inside_a_function() {
    const FACTOR: i64 = 4;

    #[candor::args]
    struct Number {
        #[default(FACTOR)]
        number: i64,
    }

    #[tool(reads)]
    fn quadruple(number: Number) -> i64 {
        number.number * FACTOR
    }

    let client = Ways::modern(server(tools![quadruple])).await;
    assert_eq!(call(&client, "quadruple", json!({})).await.text(), "16");
}

#[tool(reads)]
#[cfg(any())]
fn not_compiled(number: NoSuchType) -> i64 {}

#[derive(Default)]
struct Notes {
    notes: Mutex<Vec<String>>,
    title: String,
}

/// A method without `#[tool]` may be anything.
#[toolbox]
impl Notes {
    const MOST: usize = 3;

    fn titled<T: Into<String>>(title: T) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    fn len(&self) -> usize {
        self.notes.lock().unwrap().len()
    }

    /// Adds a note.
    #[tool(unclassified)]
    async fn add(
        &self,
        ctx: Ctx,
        /** What to remember */
        text: String,
    ) -> Result<usize, ToolError> {
        ctx.progress(1, 1, "adding").await;
        if self.len() == Self::MOST {
            return Err(ToolError::new("That is all one can remember"));
        }
        self.notes.lock().unwrap().push(text);
        Ok(self.len())
    }

    #[candor::tool(reads, name = "list_notes")]
    fn list(&self) -> Vec<String> {
        self.notes.lock().unwrap().clone()
    }

    #[tool(reads)]
    fn title(&self) -> &str {
        &self.title
    }

    #[tool(reads)]
    async fn slow_title(&self, #[default(1)] times: usize) -> Vec<&str> {
        tokio::task::yield_now().await;
        vec![&self.title; times]
    }

    #[cfg(any())]
    #[tool(reads)]
    fn not_compiled(&self, number: NoSuchType) {}
}

#[tokio::test]
async fn tools_of_a_toolbox_share_its_value() {
    for client in both(|| Notes::titled("Mine").into_tools()) {
        let names: Vec<_> = client.tools().await.into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["add", "list_notes", "title", "slow_title"]);
        let add = client.tool("add").await;
        assert_eq!(add.description.as_deref(), Some("Adds a note."));
        let properties = crate::input(&client, "add").await["properties"].clone();
        assert_eq!(
            properties,
            json!({"text": {"type": "string", "description": "What to remember"}})
        );

        for (number, text) in ["a", "b", "c"].into_iter().enumerate() {
            let called = call(&client, "add", json!({"text": text})).await;
            assert_eq!(called.structured(), Some(&json!({"result": number + 1})));
        }
        let refused = client.call("add", json!({"text": "d"})).await;
        assert_eq!(refused.text(), "That is all one can remember");
        let listed = call(&client, "list_notes", json!({})).await;
        assert_eq!(listed.structured(), Some(&json!({"result": ["a", "b", "c"]})));
        assert_eq!(call(&client, "title", json!({})).await.text(), "Mine");
        assert_eq!(call(&client, "slow_title", json!({"times": 2})).await.text(), "Mine\nMine");
    }
}

#[tokio::test]
async fn toolbox_may_be_shared_through_an_arc() {
    let notes = Arc::new(Notes::titled("Ours"));
    let client = server(Notes::tools_of(&notes)).test();
    call(&client, "add", json!({"text": "a"})).await;
    assert_eq!(notes.len(), 1);
    assert_eq!(notes.list(), ["a"]);
}

/// Where tools put things.
trait Store: Send + Sync + 'static {
    fn put(&self, text: String) -> usize;
}

impl Store for Mutex<Vec<String>> {
    fn put(&self, text: String) -> usize {
        self.lock().unwrap().push(text);
        self.lock().unwrap().len()
    }
}

struct Shelf<S>(S);

#[toolbox]
impl<S: Store> Shelf<S> {
    #[tool(unclassified)]
    fn put(&self, text: String) -> usize {
        self.0.put(text)
    }
}

#[tokio::test]
async fn toolbox_may_be_generic() {
    let client = server(Shelf(Mutex::new(Vec::new())).into_tools()).test();
    assert_eq!(call(&client, "put", json!({"text": "a"})).await.text(), "1");
}

#[test]
fn duplicate_tool_name_is_refused() {
    let error = server(tools![double, double]).build().err().unwrap().to_string();
    assert!(error.contains("\"double\""), "{error}");
}

//! The facts about a server that others wrote: its part of `peers.json`.

use serde_json::{Map, Value};

/// A server's part. `FOLDER` is replaced by the folder that the server may see.
pub(crate) struct Peer(Value);

/// A call that the file names.
#[derive(Clone)]
pub(crate) struct Named {
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    whole: Value,
}

impl Peer {
    pub(crate) fn read(name: &str, folder: &str) -> Self {
        let text = include_str!("../peers.json").replace("FOLDER", folder);
        let all: Value = serde_json::from_str(&text).expect("peers.json is JSON");
        assert!(all[name].is_object(), "peers.json has no server {name:?}");
        Self(all[name].clone())
    }

    pub(crate) fn get(&self, part: &str) -> Option<&Value> {
        self.0.get(part)
    }

    pub(crate) fn call(&self, part: &str) -> Option<Named> {
        self.get(part).map(named)
    }

    /// Returns the call that every server has: one that reads.
    pub(crate) fn reads(&self) -> Named {
        self.call("reads").expect("every server has a call that reads")
    }

    pub(crate) fn calls(&self, part: &str) -> Vec<Named> {
        self.get(part).and_then(Value::as_array).into_iter().flatten().map(named).collect()
    }

    /// Returns the values that the user enters into a form.
    pub(crate) fn form(&self) -> Map<String, Value> {
        self.get("form").and_then(Value::as_object).cloned().unwrap_or_default()
    }
}

impl Named {
    pub(crate) fn get(&self, part: &str) -> Option<&Value> {
        self.whole.get(part)
    }

    pub(crate) fn text(&self) -> &str {
        text(&self.whole["text"])
    }
}

fn named(call: &Value) -> Named {
    Named {
        tool: text(&call["call"]).to_owned(),
        arguments: call["arguments"].clone(),
        whole: call.clone(),
    }
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().expect("a text in peers.json")
}

pub(crate) fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().map(text).collect()
}

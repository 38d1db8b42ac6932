//! The output: lines for users as it happens, or one object for programs at the end.

use std::fmt::Arguments;
use std::io;

use candor::operator::shown::shown;
use serde_json::{Map, Value};

use crate::out::Out;

pub(super) struct Story {
    out: Out,
    facts: Map<String, Value>,
}

impl Story {
    pub(super) fn new(json: bool) -> Self {
        Self { out: Out::new(json), facts: Map::new() }
    }

    /// Prints what was just observed, for users.
    pub(super) fn line(&mut self, line: Arguments<'_>) -> candor::Result<()> {
        if self.out.json {
            return Ok(());
        }
        let line = shown(&line.to_string()).to_string();
        read_or_not(self.out.line(&line).and_then(|()| self.out.flush()))
    }

    /// Records a member of the object for programs.
    pub(super) fn fact(&mut self, name: &str, fact: Value) {
        self.facts.insert(name.to_owned(), fact);
    }

    pub(super) fn end(mut self) -> candor::Result<()> {
        if !self.out.json {
            return Ok(());
        }
        let facts = Value::Object(self.facts);
        read_or_not(self.out.value(&facts).and_then(|()| self.out.flush()))
    }
}

/// Ignores a closed pipe: a reader such as `head` may stop early. The demo and its cleanup continue.
fn read_or_not(written: io::Result<()>) -> candor::Result<()> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

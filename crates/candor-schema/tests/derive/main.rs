//! Rust types and the schemas that they get, compared in full.

#![allow(dead_code, missing_docs, reason = "the types are here for their shape")]

mod enums;
mod input;
mod names;
mod output;
mod recursion;
mod scalars;
mod structs;

use candor_schema::schemars::JsonSchema;
use candor_schema::{Schema, View, derive};
use serde_json::Value;

/// The schema of what a type reads. Whatever the test is about, every schema compiles.
#[track_caller]
fn reads<T: JsonSchema>() -> Value {
    checked(derive::<T>(View::Input))
}

/// The schema of what a type writes.
#[track_caller]
fn writes<T: JsonSchema>() -> Value {
    checked(derive::<T>(View::Output))
}

#[track_caller]
fn checked(schema: Value) -> Value {
    Schema::compile(&schema.to_string()).expect("a derived schema compiles");
    schema
}

/// The order in which a reader meets the keywords or members at a pointer.
fn keys_at<'a>(schema: &'a Value, pointer: &str) -> Vec<&'a str> {
    schema.pointer(pointer).unwrap().as_object().unwrap().keys().map(String::as_str).collect()
}

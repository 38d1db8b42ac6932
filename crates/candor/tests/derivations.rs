//! How often schemas are derived. A file of its own: the counter is the process's, and no other test may run beside it.

#[path = "../../../examples/schemas.rs"]
#[allow(dead_code)]
mod example;

use candor::json;
use candor::prelude::*;

/// How many schemas are derived by this.
fn derived<T>(register: impl FnOnce() -> T) -> u64 {
    let before = candor_schema::derivations();
    register();
    candor_schema::derivations() - before
}

#[tool(read_only)]
fn add(a: u8, b: u8) -> u8 {
    a + b
}

#[tool(read_only)]
fn join(a: String, b: String, c: String) -> String {
    a + &b + &c
}

#[tool(read_only)]
fn all(a: Vec<bool>, b: Option<bool>) -> bool {
    a.into_iter().chain(b).all(|so| so)
}

#[tokio::test]
async fn schemas_are_derived_at_registration_and_never_again() {
    // One for what a tool takes, one for what it gives; for n tools n times that, and again for who registers them again.
    assert_eq!(derived(|| tools![add]), 2);
    assert_eq!(derived(|| tools![add, join, all]), 3 * 2);
    let example = derived(example::server);
    assert!(example >= 14 * 2 - 1, "14 tools, one with an input schema by hand: {example}");
    assert_eq!(derived(example::server), example);
    assert_eq!(derived(|| example::server().test()), example, "nothing more to build it");

    let client = example::server().test();
    let before = candor_schema::derivations();
    for _ in 0..3 {
        client.tools().await;
        client.call("weather", json!({"city": "Bern"})).await;
        client.call("greet", json!({"name": "Ada", "age": 36})).await;
    }
    assert_eq!(candor_schema::derivations(), before);
}

//! How often schemas are derived. A file of its own: the counter is the process's, and no other test may run beside it.

#[path = "../../../examples/schemas.rs"]
#[allow(dead_code)]
mod example;

use candor::json;

#[tokio::test]
async fn schemas_are_derived_at_registration_and_never_again() {
    let client = example::server().test();
    let before = candor_schema::derivations();
    for _ in 0..3 {
        client.tools().await;
        client.call("weather", json!({"city": "Bern"})).await;
        client.call("greet", json!({"name": "Ada", "age": 36})).await;
    }
    assert_eq!(candor_schema::derivations(), before);
}

//! Compile errors are user interface: one mistake each, and what the author of a tool reads about it.
//!
//! After a change of words on purpose: `TRYBUILD=overwrite cargo test -p candor --test compile_fail`, then read the diff.

#[test]
fn every_mistake_is_answered_with_what_to_write_instead() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}

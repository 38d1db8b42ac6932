//! Compile errors are user interface: one mistake each, and what the author of a tool reads about it.
//!
//! After a change of words on purpose: `TRYBUILD=overwrite cargo test -p candor --test compile_fail`, then read the diff.

#[test]
fn compile_errors_match_their_snapshots() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}

//! All of it once more on ledgers in PostgreSQL.

use crate::place::again_in_postgresql;

#[test]
fn approvals_are_the_same_in_postgresql() {
    // What is PostgreSQL's own is there already.
    again_in_postgresql("approvals_are_the_same_in_postgresql", &["two_instances::"]);
}

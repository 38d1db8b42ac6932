//! All of it once more on ledgers in PostgreSQL, and what is PostgreSQL's own.

use crate::database::Schema;
use crate::ledger::{candor, history, told};
use crate::place::again_in_postgresql;

#[test]
fn history_is_the_same_in_postgresql() {
    again_in_postgresql("history_is_the_same_in_postgresql", &["opening::", "postgres::"]);
}

#[test]
fn reading_history_creates_no_schema() {
    let Some(schema) = Schema::new("postgres::reading_history_creates_no_schema") else { return };
    let there = format!("SELECT count(*) FROM pg_namespace WHERE nspname = '{}'", schema.name);
    for words in
        [&[][..], &["show", "abcd"], &["export"], &["resolve", "abcd", "--abandoned", "--yes"]]
    {
        let refused = history(schema.url(), words);
        let text = refused.refused(1);
        assert!(text.contains("no ledger exists here"), "{text}");
        assert_eq!(schema.number(&there), 0, "{words:?}");
    }
    for words in [&["list"][..], &["grants"], &["show", "abcd"], &["revoke", "abcd"]] {
        let refused = told(candor().arg("approvals").args(words).args(["--ledger", &schema.url()]));
        assert!(refused.refused(1).contains("no ledger exists here"), "{}", refused.stderr);
        assert_eq!(schema.number(&there), 0, "{words:?}");
    }
}

#[test]
fn schema_of_another_program_is_refused_unchanged() {
    let Some(schema) = Schema::new("postgres::schema_of_another_program") else { return };
    schema.sql(&format!("CREATE SCHEMA {0}; CREATE TABLE {0}.songs (name text)", schema.name));
    let refused = history(schema.url(), &[]);
    assert!(refused.refused(1).contains("another program"), "{}", refused.stderr);
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema";
    assert_eq!(schema.number(tables), 1);
}

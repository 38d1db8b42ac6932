//! The official JSON-Schema-Test-Suite: all drafts, all required tests, and the optional ones.
//!
//! | module | what it holds |
//! |---|---|
//! | `fetched` | the suite on disk, downloaded once |
//! | `excused` | the tests that we do not pass, and why |

#![allow(missing_docs, reason = "these are tests")]

mod excused;
mod fetched;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use candor_schema::{Schema, SchemaError};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Case {
    description: String,
    schema: Value,
    tests: Vec<Test>,
}

#[derive(Deserialize)]
struct Test {
    description: String,
    data: Value,
    valid: bool,
}

#[test]
fn draft_2020_12() {
    run("draft2020-12", "https://json-schema.org/draft/2020-12/schema");
}

#[test]
fn draft_2019_09() {
    run("draft2019-09", "https://json-schema.org/draft/2019-09/schema");
}

#[test]
fn draft_7() {
    run("draft7", "http://json-schema.org/draft-07/schema#");
}

#[test]
fn draft_6() {
    run("draft6", "http://json-schema.org/draft-06/schema#");
}

#[test]
fn draft_4() {
    run("draft4", "http://json-schema.org/draft-04/schema#");
}

/// Runs all tests of a draft: what is not excused passes, and what is excused does not.
fn run(draft: &str, dialect: &str) {
    let folder = fetched::suite().join("tests").join(draft);
    let (mut wrong, mut used, mut passed) = (Vec::new(), BTreeSet::new(), 0);
    for path in files(&folder) {
        let file = path.strip_prefix(&folder).unwrap().to_str().unwrap().replace('\\', "/");
        let text = std::fs::read_to_string(&path).unwrap();
        let cases: Vec<Case> = serde_json::from_str(&text).unwrap();
        for case in cases {
            let schema = compile(with_dialect(case.schema, dialect), draft);
            for test in case.tests {
                let name = format!("{file} | {} | {}", case.description, test.description);
                let result = match &schema {
                    Ok(schema) => schema.check(&test.data).map_err(|e| e.to_string()),
                    Err(error) => Err(format!("not compiled: {error}")),
                };
                let fits = schema.is_ok() && result.is_ok() == test.valid;
                match (excused::excuse_for(draft, &name), fits) {
                    (None, true) => passed += 1,
                    (None, false) => wrong.push(format!("{name}: {result:?}")),
                    (Some(excuse), false) => {
                        used.insert(excuse);
                    }
                    (Some(_), true) => wrong.push(format!("{name}: passes, but is excused")),
                }
            }
        }
    }
    for excuse in excused::all(draft).filter(|excuse| !used.contains(excuse)) {
        wrong.push(format!("{excuse:?} excuses nothing"));
    }
    assert!(wrong.is_empty(), "{} wrong in {draft}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(passed > 500, "only {passed} tests in {draft}: is the suite complete?");
}

/// Compiles a schema. Nothing is ever fetched, so documents on other hosts are put inside.
fn compile(mut schema: Value, draft: &str) -> Result<Arc<Schema>, SchemaError> {
    let compiled = Schema::compile(&schema.to_string());
    let Err(error) = &compiled else { return compiled };
    if !error.to_string().contains("is not in this schema") {
        return compiled;
    }
    let keyword = if draft < "draft4" { "$defs" } else { "definitions" };
    for (url, mut document) in fetched::remotes(draft) {
        let Value::Object(keywords) = &mut document else { continue };
        let id = if draft == "draft4" { "id" } else { "$id" };
        keywords.entry(id).or_insert_with(|| url.as_str().into());
        schema[keyword][url] = document;
    }
    Schema::compile(&schema.to_string())
}

/// Old drafts do not name themselves in the suite.
fn with_dialect(mut schema: Value, dialect: &str) -> Value {
    if let Value::Object(keywords) = &mut schema {
        keywords.entry("$schema").or_insert_with(|| dialect.into());
    }
    schema
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.push(path);
        }
    }
    found.sort();
    found
}

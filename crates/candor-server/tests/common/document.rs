//! The published schema of our extensions. Test crates that hold messages against it name this file by its path: it brings a
//! validator that shares nothing with the server's own.

use jsonschema::Validator;
use serde_json::{Value, json};

pub(crate) fn document() -> Value {
    serde_json::from_str(include_str!("../../../../schemas/dev.candor.json")).unwrap()
}

/// One definition, with all others to refer to.
pub(crate) fn definition(document: Value, name: &str) -> Validator {
    assert!(document["$defs"].get(name).is_some(), "{name}");
    let mut document = document;
    document["$ref"] = json!(format!("#/$defs/{name}"));
    jsonschema::draft202012::new(&document).unwrap()
}

/// The same, but nothing may stand there that is not described. For what is ours alone.
pub(crate) fn exactly(name: &str) -> Validator {
    fn close(schema: &mut Value) {
        if let Some(members) = schema.as_object_mut() {
            // A constant is no schema, though it may look like one.
            members.iter_mut().filter(|(name, _)| *name != "const").for_each(|(_, it)| close(it));
            if members.contains_key("properties") && members.contains_key("type") {
                members.insert("additionalProperties".to_owned(), json!(false));
            }
        }
    }
    let mut document = document();
    close(&mut document["$defs"]);
    definition(document, name)
}

#[track_caller]
pub(crate) fn fits(validator: &Validator, message: &Value) {
    let problems: Vec<_> = validator.iter_errors(message).map(|e| e.to_string()).collect();
    assert!(problems.is_empty(), "{problems:?}: {message}");
}

//! What a schema adds to a table: defaults of arguments, and whether the rows cover every call.

use candor_hints::{Pointer, Row, Table, Test};
use serde_json::Value;

/// The table with what the schema knows, or why it cannot be meant.
pub(crate) fn complete(table: &Table, schema: &Value) -> Result<Table, String> {
    if let Some(row) = table.unreachable().first() {
        return Err(format!(
            "row {} of its effects is never reached: an earlier row asks the same",
            row + 1
        ));
    }
    let mut table = table.clone();
    let tested: Vec<Pointer> =
        table.rows().iter().flat_map(Row::tests).map(|(at, _)| at.clone()).collect();
    for pointer in tested {
        let mut place = schema;
        for step in pointer.steps() {
            match place["properties"].get(step.name()) {
                Some(property) => place = property,
                None if place["additionalProperties"] == Value::Bool(false) => {
                    return Err(format!("its effects ask about {step}, which is no argument"));
                }
                // Somewhere else in the schema, which says where in too many ways.
                None => break,
            }
            if let Some(default) = place.get("default").filter(|default| !default.is_null()) {
                let (at, default) = (step.as_str(), default.clone());
                table = match may_be_null(place) {
                    true => table.nullable_default_of(at, default),
                    false => table.default_of(at, default),
                };
            }
        }
    }
    Ok(if covers(table.rows(), schema) { table.exhaustive() } else { table })
}

/// Whether every call fits some row: the last takes all, or the rows name every value of some argument.
fn covers(rows: &[Row], schema: &Value) -> bool {
    let alone = |row: &Row| match row.tests() {
        [(at, test)] => Some((at.clone(), test.clone())),
        _ => None,
    };
    let single: Vec<(Pointer, Test)> = rows.iter().filter_map(alone).collect();
    rows.iter().any(|row| row.tests().is_empty())
        || single.iter().any(|(at, _)| {
            let Some(name) = at.argument() else { return false };
            let about: Vec<&Test> =
                single.iter().filter(|(other, _)| other == at).map(|(_, test)| test).collect();
            let property = &schema["properties"][name];
            let mut required = schema["required"].as_array().into_iter().flatten();
            let takes_absence = about.contains(&&Test::Absent);
            let default = property.get("default").filter(|default| !default.is_null());
            let left_out = match default {
                _ if required.any(|r| r == name) => true,
                // A default need not be a value that could be sent.
                Some(default) => names(&about, default),
                None => takes_absence,
            };
            // Beside a default, nobody knows what an explicit null means.
            let null = !may_be_null(property) || (takes_absence && default.is_none());
            left_out && null && names_all(&about, property)
        })
}

/// Whether the schema lets `null` through, which counts as left out. Yes unless it is plain that it does not.
fn may_be_null(property: &Value) -> bool {
    let by_type = match &property["type"] {
        Value::String(only) => only == "null",
        Value::Array(types) => types.iter().any(|one| one == "null"),
        _ => true,
    };
    let by_enum = property["enum"].as_array().is_none_or(|values| values.contains(&Value::Null));
    by_type && by_enum
}

fn names_all(tests: &[&Test], property: &Value) -> bool {
    let values = match (property.get("enum").and_then(Value::as_array), property["type"].as_str()) {
        (Some(values), _) => values.clone(),
        (None, Some("boolean")) => vec![Value::Bool(true), Value::Bool(false)],
        _ => return tests.contains(&&Test::Present),
    };
    values.iter().filter(|value| !value.is_null()).all(|value| names(tests, value))
}

/// Whether one of the tests is sure to be passed by a value.
fn names(tests: &[&Test], value: &Value) -> bool {
    tests.iter().any(|test| match test {
        Test::Present => true,
        Test::OneOf(named) => named.contains(value),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_hints::Hints;
    use serde_json::json;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": ["read", "add"]},
                "dry": {"type": "boolean", "default": true},
                "path": {"type": "string"},
            },
            "required": ["action", "path"],
            "additionalProperties": false,
        })
    }

    fn row(at: &str, value: Value, hints: Hints) -> Row {
        Row::when(at, Test::OneOf(vec![value])).then(hints)
    }

    #[test]
    fn rows_for_every_value_are_all_there_is() {
        let read = row("action", json!("read"), Hints::READS);
        let add = row("action", json!("add"), Hints::ADDS);
        let some = Table::new().row(read.clone());
        assert_eq!(complete(&some, &schema()).unwrap().worst(), Hints::WORST);
        assert_eq!(complete(&some.row(add), &schema()).unwrap().worst(), Hints::ADDS);
        let all = Table::new().row(read).row(Row::otherwise(Hints::ADDS));
        assert_eq!(complete(&all, &schema()).unwrap().worst(), Hints::ADDS);
    }

    #[test]
    fn an_argument_with_a_default_is_always_there() {
        let table = Table::new().row(row("dry", json!(true), Hints::READS)).row(row(
            "dry",
            json!(false),
            Hints::ADDS,
        ));
        let table = complete(&table, &schema()).unwrap();
        assert_eq!(table.worst(), Hints::ADDS);
        assert_eq!(table.of(&json!({"action": "read", "path": "a"})), Hints::READS);
    }

    #[test]
    fn a_null_counts_as_left_out_and_a_default_must_be_named_too() {
        let worst = |property: Value, rows: Vec<Row>| {
            let schema =
                json!({"type": "object", "properties": {"a": property}, "required": ["a"]});
            let table = rows.into_iter().fold(Table::new(), Table::row);
            complete(&table, &schema).unwrap().worst()
        };
        let present = || Row::when("a", Test::Present).then(Hints::READS);
        let absent = || Row::when("a", Test::Absent).then(Hints::READS);
        let x = || row("a", json!("x"), Hints::READS);
        assert_eq!(worst(json!({"type": "string"}), vec![present()]), Hints::READS);
        assert_eq!(worst(json!({"type": ["string", "null"]}), vec![present()]), Hints::WORST);
        assert_eq!(worst(json!({}), vec![present()]), Hints::WORST);
        assert_eq!(worst(json!({}), vec![present(), absent()]), Hints::READS);
        let null = row("a", Value::Null, Hints::READS);
        assert_eq!(worst(json!({"enum": ["x", null]}), vec![x(), null]), Hints::WORST);
        assert_eq!(worst(json!({"enum": ["x", null]}), vec![x(), absent()]), Hints::READS);
        let odd = json!({"enum": ["x", null], "default": "y"});
        assert_eq!(worst(odd, vec![x(), absent()]), Hints::WORST);
    }

    #[test]
    fn mistakes_are_reported_when_the_tool_is_registered() {
        let twice = row("action", json!("read"), Hints::READS);
        let table = Table::new().row(twice.clone()).row(twice);
        assert!(complete(&table, &schema()).unwrap_err().contains("row 2"));
        let typo = Table::new().row(row("acton", json!("read"), Hints::READS));
        assert!(complete(&typo, &schema()).unwrap_err().contains("/acton"));
        let nested = json!({"type": "object", "properties": {"how": schema()}});
        let typo = Table::new().row(row("/how/acton", json!("read"), Hints::READS));
        assert!(complete(&typo, &nested).unwrap_err().contains("/how/acton"));
    }

    #[test]
    fn defaults_of_members_are_found() {
        let nested = json!({"type": "object", "properties": {"how": schema()}});
        let table = Table::new()
            .row(row("/how/dry", json!(true), Hints::READS))
            .row(Row::otherwise(Hints::DELETES));
        let table = complete(&table, &nested).unwrap();
        assert_eq!(table.of(&json!({"how": {"action": "add", "path": "a"}})), Hints::READS);
        assert_eq!(table.of(&json!({"how": {"dry": false}})), Hints::DELETES);
        assert_eq!(table.of(&json!({})), Hints::DELETES);
    }
}

//! What a schema adds to an effect table: defaults of arguments, whether the rows cover every call, and which rows are mistakes.

use std::collections::HashMap;

use candor_hints::{Domain, EffectRow, EffectTable, Pointer, RowReach};
use serde_json::Value;

use super::domain::{Argument, Domains};
use super::row_error;

/// Returns the table completed with what the schema knows, or the mistake in it.
pub(crate) fn complete(table: &EffectTable, schema: &Value) -> Result<EffectTable, String> {
    let domains = Domains::of(schema);
    let tested = table.rows().iter().flat_map(EffectRow::tests).map(|(at, _)| at);
    let mut arguments: HashMap<&Pointer, Argument> = HashMap::new();
    for at in tested {
        arguments.entry(at).or_insert_with(|| domains.argument(at));
    }
    let mut completed = table.clone();
    for (number, row) in table.rows().iter().enumerate() {
        if let Some(problem) = row.annotations().problem() {
            return Err(format!(
                "row {} of its effects (`{}`): {problem}",
                number + 1,
                row.condition()
            ));
        }
        for (at, _) in row.tests() {
            let Some(argument) = arguments.get_mut(at) else { continue };
            if let Some((step, names)) = &argument.unknown {
                return Err(row_error::unknown(number, step, names));
            }
            for (step, default, null) in argument.defaults.drain(..) {
                completed = match null {
                    true => completed.nullable_default_of(step.as_str(), default),
                    false => completed.default_of(step.as_str(), default),
                };
            }
        }
    }
    let domain = |at: &Pointer| {
        arguments.get(at).map_or_else(Domain::anything, |found| found.domain.clone())
    };
    if let Some((number, flaw)) = completed.flaws(domain).first() {
        return Err(row_error::explain(table, *number, flaw, domain));
    }
    if let Some((number, reach)) = dead_row(&completed, &domains, &arguments) {
        return Err(row_error::out_of_form(table, number, reach));
    }
    Ok(if completed.covers(domain) { completed.exhaustive() } else { completed })
}

/// Finds a row that calls of no form match first, and which calls match it at all.
fn dead_row(
    table: &EffectTable,
    domains: &Domains<'_>,
    arguments: &HashMap<&Pointer, Argument>,
) -> Option<(usize, RowReach)> {
    let tested: Vec<&Pointer> = arguments.keys().copied().collect();
    let forms = domains.forms(&tested);
    if forms.len() < 2 {
        return None;
    }
    let mut reached = vec![RowReach::Never; table.rows().len()];
    for form in &forms {
        let domain = |at: &Pointer| domains.argument_of(at, form).domain;
        for (row, reach) in reached.iter_mut().zip(table.reach(domain)) {
            *row = reach.max(*row);
        }
    }
    reached.into_iter().enumerate().find(|(_, reach)| *reach != RowReach::First)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_hints::{Condition, Hints};
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

    fn row(at: &str, value: Value, hints: Hints) -> EffectRow {
        EffectRow::when(at, Condition::OneOf(vec![value])).then(hints)
    }

    #[test]
    fn rows_that_cover_every_value_bound_the_worst_case() {
        let read = row("action", json!("read"), Hints::READS);
        let add = row("action", json!("add"), Hints::ADDS);
        let some = EffectTable::new().row(read.clone());
        assert_eq!(complete(&some, &schema()).unwrap().worst(), Hints::WORST);
        assert_eq!(complete(&some.row(add), &schema()).unwrap().worst(), Hints::ADDS);
        let all = EffectTable::new().row(read).row(EffectRow::otherwise(Hints::ADDS));
        assert_eq!(complete(&all, &schema()).unwrap().worst(), Hints::ADDS);
    }

    #[test]
    fn argument_with_a_default_counts_as_present() {
        let table = EffectTable::new().row(row("dry", json!(true), Hints::READS)).row(row(
            "dry",
            json!(false),
            Hints::ADDS,
        ));
        let table = complete(&table, &schema()).unwrap();
        assert_eq!(table.worst(), Hints::ADDS);
        assert_eq!(table.of(&json!({"action": "read", "path": "a"})), Hints::READS);
    }

    #[test]
    fn null_counts_as_omitted_for_coverage() {
        let complete = |property: Value, rows: Vec<EffectRow>| {
            let schema =
                json!({"type": "object", "properties": {"a": property}, "required": ["a"]});
            let table = rows.into_iter().fold(EffectTable::new(), EffectTable::row);
            complete(&table, &schema)
        };
        let worst =
            |property: Value, rows: Vec<EffectRow>| complete(property, rows).unwrap().worst();
        let present = || EffectRow::when("a", Condition::Present).then(Hints::READS);
        let absent = || EffectRow::when("a", Condition::Absent).then(Hints::READS);
        let x = || row("a", json!("x"), Hints::READS);
        assert_eq!(worst(json!({"type": "string"}), vec![present()]), Hints::READS);
        assert_eq!(worst(json!({"type": ["string", "null"]}), vec![present()]), Hints::WORST);
        assert_eq!(worst(json!({}), vec![present()]), Hints::WORST);
        assert_eq!(worst(json!({}), vec![present(), absent()]), Hints::READS);
        assert_eq!(worst(json!({"enum": ["x", null]}), vec![x()]), Hints::WORST);
        assert_eq!(worst(json!({"enum": ["x", null]}), vec![x(), absent()]), Hints::READS);
        let odd = json!({"enum": ["x", null], "default": "y"});
        assert_eq!(worst(odd.clone(), vec![x()]), Hints::WORST);
        // Beside a default, an explicit null is unclear.
        assert!(complete(odd, vec![x(), absent()]).is_err());
        assert!(complete(json!({}), vec![row("a", Value::Null, Hints::READS)]).is_err());
    }

    #[test]
    fn ranges_that_meet_cover_every_number() {
        let integer = json!({"type": "integer", "minimum": 0});
        let rows = |from| {
            EffectTable::new()
                .row(EffectRow::when("n", Condition::Range(None, Some(9.0))).then(Hints::READS))
                .row(EffectRow::when("n", Condition::Range(Some(from), None)).then(Hints::ADDS))
        };
        let of = |property: &Value, from| {
            let schema =
                json!({"type": "object", "properties": {"n": property}, "required": ["n"]});
            complete(&rows(from), &schema).unwrap().worst()
        };
        assert_eq!(of(&integer, 10.0), Hints::ADDS);
        assert_eq!(of(&integer, 11.0), Hints::WORST);
        assert_eq!(of(&json!({"type": "number"}), 10.0), Hints::WORST);
        assert_eq!(of(&json!({"type": "number"}), 9.0), Hints::ADDS);
    }

    #[test]
    fn duplicate_row_and_unknown_argument_are_refused() {
        let twice = row("action", json!("read"), Hints::READS);
        let table = EffectTable::new().row(twice.clone()).row(twice);
        assert!(complete(&table, &schema()).unwrap_err().contains("row 2"));
        let typo = EffectTable::new().row(row("acton", json!("read"), Hints::READS));
        let said = complete(&typo, &schema()).unwrap_err();
        assert_eq!(
            said,
            "row 1 of its effects asks about /acton, which is no argument; did you mean `action`?"
        );
        let nested = json!({"type": "object", "properties": {"how": schema()}});
        let typo = EffectTable::new().row(row("/how/acton", json!("read"), Hints::READS));
        assert!(complete(&typo, &nested).unwrap_err().contains("/how/acton"));
        let patterned = json!({
            "type": "object", "patternProperties": {"^a": {}}, "additionalProperties": false,
        });
        let fits = EffectTable::new().row(row("acton", json!("read"), Hints::READS));
        assert!(complete(&fits, &patterned).is_ok());
    }

    /// Returns the problem of one row, or several, over this argument.
    fn said(property: &Value, need: bool, rows: Vec<EffectRow>) -> String {
        let required = if need { json!(["a"]) } else { json!([]) };
        let schema = json!({"type": "object", "properties": {"a": property}, "required": required});
        let table = rows.into_iter().fold(EffectTable::new(), EffectTable::row);
        complete(&table, &schema).map_or_else(|problem| problem, |_| "fine".to_owned())
    }

    #[test]
    fn dead_row_is_refused_with_the_values_that_are_allowed() {
        let when = |test: Condition| vec![EffectRow::when("a", test).then(Hints::READS)];
        let action = json!({"type": "string", "enum": ["read", "delete"]});
        assert_eq!(
            said(&action, true, when(Condition::equals("delet"))),
            r#"row 1 of its effects (`a is "delet"`) never matches: no call has `a is "delet"`. Values of /a: "read", "delete"; did you mean "delete"?"#
        );
        assert_eq!(
            said(&action, false, when(Condition::OneOf(vec![json!("read"), json!("delet")]))),
            r#"row 1 of its effects (`a is "read" or "delet"`): /a is never "delet". Values of /a: "read", "delete", left out; did you mean "delete"?"#
        );
        let below = |at: &str| Condition::Below(at.into());
        let small = json!({"type": "integer", "minimum": 1, "maximum": 9});
        let short = json!({"type": "string", "maxLength": 3, "minLength": 2});
        for (property, test, problem) in [
            (json!({"type": "integer"}), Condition::equals("1"), "Values of /a: integers"),
            (json!({"type": "integer"}), Condition::equals(1.5), "never"),
            (json!({"type": "integer"}), below("/x"), "never"),
            (json!({"type": "string"}), Condition::Range(Some(1.0), None), "Values of /a: strings"),
            (json!({"type": "boolean"}), Condition::Glob("/*".into()), "Values of /a: true, false"),
            (json!({"type": "string"}), Condition::Absent, "never"),
            (small.clone(), Condition::equals(10), "Values of /a: integers from 1 to 9"),
            (small.clone(), Condition::Range(Some(9.5), None), "never"),
            (small.clone(), Condition::Range(Some(2.5), Some(2.75)), "never"),
            (small.clone(), Condition::Range(Some(5.0), Some(4.0)), "never"),
            (
                short.clone(),
                Condition::equals("long"),
                "Values of /a: strings of at most 3 characters",
            ),
            (short.clone(), Condition::equals("é"), "never"),
            (short.clone(), below("/abc"), "never"),
            (short, Condition::Glob("/".into()), "never"),
            (json!({"type": "string", "pattern": "^[a-z]+$"}), Condition::equals("A"), "never"),
            (json!({"const": "x"}), Condition::equals("y"), "never"),
            (json!({"anyOf": [{"type": "null"}, action.clone()]}), Condition::equals("x"), "never"),
            (
                json!({"allOf": [{"type": "string"}, {"type": "integer"}]}),
                Condition::Present,
                "never",
            ),
            (json!({"type": "string"}), below("//x"), "two slashes follow each other"),
            (json!({"type": "string"}), below("~/x"), "no path in normal form"),
            (
                json!({"type": "string"}),
                Condition::Glob("/a/../*".into()),
                "no path in normal form",
            ),
            (json!({"not": {"type": "string"}}), Condition::equals("x"), "never"),
            (json!({}), Condition::equals(Value::Null), "null counts as left out"),
        ] {
            let said = said(&property, true, when(test.clone()));
            assert!(
                said.contains("row 1 of its effects") && said.contains(problem),
                "{test:?}: {said}"
            );
        }
        for (property, test) in [
            (json!({"type": "number"}), Condition::Range(Some(2.5), Some(2.75))),
            (json!({"type": "integer"}), Condition::equals(2.0)),
            (small, Condition::Range(Some(9.0), Some(20.0))),
            (json!({"type": "string", "maxLength": 4}), below("/abc")),
            (json!({"type": ["string", "null"]}), Condition::Absent),
            (json!({"$ref": "#/properties/b"}), Condition::equals("x")),
        ] {
            assert_eq!(said(&property, true, when(test.clone())), "fine", "{test:?}");
        }
    }

    #[test]
    fn dead_row_about_an_array_element_is_refused() {
        let action = json!({"type": "string", "enum": ["read", "delete"]});
        let list = json!({"type": "array", "items": action, "maxItems": 2});
        let pair =
            json!({"type": "array", "prefixItems": [{"type": "integer"}, action], "items": false});
        let when = |at: &str, test: Condition| vec![EffectRow::when(at, test).then(Hints::READS)];
        for (property, at) in
            [(&list, "/a/0"), (&list, "/a/2"), (&pair, "/a/0"), (&pair, "/a/1"), (&pair, "/a/2")]
        {
            let said = said(property, true, when(at, Condition::equals("delet")));
            assert!(said.contains("never matches"), "{at}: {said}");
        }
        for (property, at) in [(&list, "/a/0"), (&list, "/a/1"), (&pair, "/a/1")] {
            assert_eq!(said(property, true, when(at, Condition::equals("delete"))), "fine", "{at}");
        }
        // Without a list before it, `additionalItems` means nothing.
        let open = json!({"type": "array", "prefixItems": [{"type": "integer"}], "additionalItems": false});
        assert_eq!(said(&open, true, when("/a/1", Condition::equals("x"))), "fine");
        let not_zero = json!({"type": "integer", "not": {"const": 0}});
        assert!(said(&not_zero, true, when("a", Condition::equals(0))).contains("never matches"));
    }

    #[test]
    fn row_about_an_absent_item_of_a_long_enough_array_is_refused() {
        let absent = |at: &str| vec![EffectRow::when(at, Condition::Absent).then(Hints::READS)];
        let list = |more: Value| {
            let mut list = json!({"type": "array", "minItems": 2});
            list.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            list
        };
        let plain = list(json!({"items": {"type": "string"}}));
        for at in ["/a/0", "/a/1"] {
            assert!(said(&plain, true, absent(at)).contains("never matches"), "{at}");
            assert_eq!(said(&plain, false, absent(at)), "fine", "{at}");
        }
        for at in ["/a/2", "/a/01", "/a/x", "/a/-"] {
            assert_eq!(said(&plain, true, absent(at)), "fine", "{at}");
        }
        for open in [
            json!({"type": ["array", "object"]}),
            json!({"type": ["array", "null"]}),
            json!({"items": {"type": ["string", "null"]}}),
            json!({"minItems": 0}),
        ] {
            let open = list(open);
            assert_eq!(said(&open, true, absent("/a/0")), "fine", "{open}");
        }
    }

    #[test]
    fn row_about_a_string_of_no_length_is_refused() {
        let present = || vec![EffectRow::when("a", Condition::Present).then(Hints::READS)];
        let lengths = |least: u64, most: u64| json!({"type": "string", "minLength": least, "maxLength": most});
        assert!(said(&lengths(3, 2), true, present()).contains("never matches"));
        assert_eq!(said(&lengths(2, 2), true, present()), "fine");
        let mut other = lengths(3, 2);
        other["type"] = json!(["string", "integer"]);
        assert_eq!(said(&other, true, present()), "fine");
    }

    #[test]
    fn row_about_members_that_match_patterns_is_refused_if_none_fits() {
        let object = |more: Value| {
            let mut object = json!({
                "type": "object",
                "patternProperties": {"^x": {"enum": ["p", "q"]}, "y$": {"enum": ["q", "r"]}},
                "additionalProperties": false,
            });
            object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            object
        };
        let is = |at: &str, value: &str| {
            vec![EffectRow::when(at, Condition::equals(value)).then(Hints::READS)]
        };
        let closed = object(json!({}));
        for (at, value) in [("/a/x", "p"), ("/a/x", "q"), ("/a/xy", "q"), ("/a/zy", "r")] {
            assert_eq!(said(&closed, true, is(at, value)), "fine", "{at} {value}");
        }
        for (at, value) in [("/a/x", "r"), ("/a/xy", "p"), ("/a/xy", "r"), ("/a/zy", "p")] {
            assert!(said(&closed, true, is(at, value)).contains("never matches"), "{at} {value}");
        }
        assert!(said(&closed, true, is("/a/z", "q")).contains("/a/z, which is no argument"));
        let rest = object(json!({"additionalProperties": {"enum": ["s"]}}));
        assert_eq!(said(&rest, true, is("/a/z", "s")), "fine");
        assert!(said(&rest, true, is("/a/z", "q")).contains("never matches"));
        assert!(said(&rest, true, is("/a/x", "s")).contains("never matches"));
        let named =
            object(json!({"properties": {"x": {"enum": ["q", "t"]}, "z": {"enum": ["t"]}}}));
        assert_eq!(said(&named, true, is("/a/x", "q")), "fine");
        assert_eq!(said(&named, true, is("/a/z", "t")), "fine");
        assert!(said(&named, true, is("/a/x", "t")).contains("never matches"));
        // Nothing is known about a name that takes too many steps.
        let costly = object(json!({"patternProperties": {"^(?!(a+)+$)": {"enum": ["p"]}}}));
        let name = format!("/a/{}b", "a".repeat(100));
        assert_eq!(said(&costly, true, is(&name, "q")), "fine");
    }

    #[test]
    fn row_shadowed_by_earlier_rows_is_refused() {
        let when = |test: Condition| EffectRow::when("a", test).then(Hints::READS);
        let text = |text: &str| when(Condition::equals(text));
        let below = |at: &str| when(Condition::Below(at.into()));
        let glob = |at: &str| when(Condition::Glob(at.into()));
        let range = |from, to| when(Condition::Range(from, to));
        let otherwise = || EffectRow::otherwise(Hints::ADDS);
        let action = json!({"type": "string", "enum": ["read", "delete"]});
        let string = json!({"type": "string"});
        let number = json!({"type": "number"});
        let refused = "row 3 of its effects (`otherwise`) never matches: rows 1, 2 before it take every such call. Remove it, or move it up";
        assert_eq!(said(&action, true, vec![text("read"), text("delete"), otherwise()]), refused);
        assert_eq!(said(&action, false, vec![text("read"), text("delete"), otherwise()]), "fine");
        assert_eq!(
            said(&number, true, vec![range(None, Some(1.0)), range(Some(1.0), None), otherwise()]),
            refused
        );
        let open = json!({});
        for (property, rows) in [
            (&open, vec![below("/a"), below("/a/b")]),
            (&open, vec![below("/a"), glob("/a/*")]),
            (&open, vec![glob("/**/*.log"), glob("/x/*.log")]),
            (&open, vec![glob("/*/**"), below("/a")]),
            (&open, vec![glob("/a*"), text("/ab")]),
            // A relative path is unclear to the first row.
            (&open, vec![below("/a"), below("a")]),
            (&open, vec![below("/a"), text("a b")]),
            (&string, vec![below("/"), otherwise()]),
            (&open, vec![range(Some(0.0), None), range(Some(1.0), Some(2.0))]),
            (&open, vec![when(Condition::Present), text("x")]),
            (&open, vec![otherwise(), text("x")]),
            (&open, vec![text("z"), text("x").and("a", Condition::equals("y"))]),
            (
                &open,
                vec![text("z"), range(None, Some(1.0)).and("a", Condition::Range(Some(2.0), None))],
            ),
        ] {
            let said = said(property, true, rows.clone());
            assert!(
                said.starts_with("row 2 ") && said.contains("never matches"),
                "{rows:?}: {said}"
            );
        }
        for rows in [
            vec![below("/a/b"), below("/a")],
            vec![below("/a"), below("/ab")],
            vec![glob("/a/*"), below("/a")],
            vec![glob("/**/*.log"), below("/x")],
            vec![below("/"), otherwise()],
            vec![below("/a"), text("/x y")],
            vec![range(Some(1.0), None), range(Some(0.0), None)],
            vec![text("x"), when(Condition::OneOf(vec![json!("x"), json!("y")]))],
        ] {
            assert_eq!(said(&open, true, rows.clone()), "fine", "{rows:?}");
        }
    }

    #[test]
    fn defaults_of_nested_members_apply() {
        let nested = json!({"type": "object", "properties": {"how": schema()}});
        let table = EffectTable::new()
            .row(row("/how/dry", json!(true), Hints::READS))
            .row(EffectRow::otherwise(Hints::DELETES));
        let table = complete(&table, &nested).unwrap();
        assert_eq!(table.of(&json!({"how": {"action": "add", "path": "a"}})), Hints::READS);
        assert_eq!(table.of(&json!({"how": {"dry": false}})), Hints::DELETES);
        assert_eq!(table.of(&json!({})), Hints::DELETES);
    }
}

#[cfg(test)]
#[path = "coverage_laws.rs"]
mod laws;

//! Effect tables: from arguments to hints, as data.

use serde_json::Value;

use crate::annotations::Annotations;
use crate::hints::Hints;
use crate::pointer::Pointer;
use crate::test::{Condition, ConditionMatch};

/// Rows that are tried in order. The first one that matches gives the hints of the call. A call that matches no row is the worst
/// case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EffectTable {
    rows: Vec<EffectRow>,
    defaults: Vec<AssumedValue>,
    /// Whether the tool never reaches external systems, so that the worst case does not, either.
    closed_world: bool,
    exhaustive: bool,
}

/// The value that an argument has if a caller leaves it out.
#[derive(Debug, Clone, PartialEq)]
struct AssumedValue {
    at: Pointer,
    value: Value,
    /// Whether it may also be an explicit `null`.
    nullable: bool,
}

/// One row: conditions on the arguments, and what a matching call does.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectRow {
    tests: Vec<(Pointer, Condition)>,
    annotations: Annotations,
}

impl EffectRow {
    /// Creates a row that matches if an argument passes a test. Its hints are the worst case until [`EffectRow::then`] sets them.
    pub fn when(argument: impl Into<Pointer>, test: Condition) -> Self {
        Self { tests: vec![(argument.into(), test)], annotations: Hints::WORST.into() }
    }

    /// Creates a row that always matches: the last one.
    #[must_use]
    pub fn otherwise(annotations: impl Into<Annotations>) -> Self {
        Self { tests: Vec::new(), annotations: annotations.into() }
    }

    /// Adds a test that must hold, too.
    #[must_use]
    pub fn and(mut self, argument: impl Into<Pointer>, test: Condition) -> Self {
        self.tests.push((argument.into(), test));
        self
    }

    /// Sets what a matching call does: hints, or [`Annotations`] with further fields.
    #[must_use]
    pub fn then(mut self, annotations: impl Into<Annotations>) -> Self {
        self.annotations = annotations.into();
        self
    }

    /// Returns what a matching call does.
    #[must_use]
    pub const fn hints(&self) -> Hints {
        self.annotations.hints()
    }

    /// Returns the hints, and the fields beside them.
    #[must_use]
    pub const fn annotations(&self) -> &Annotations {
        &self.annotations
    }

    /// Returns the tests, all of which must hold.
    #[must_use]
    pub fn tests(&self) -> &[(Pointer, Condition)] {
        &self.tests
    }
}

/// Whether a row matches arguments. Except for `No`, a later variant is less certain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RowMatch {
    No,
    Yes,
    /// It depends on arguments that are still missing.
    Perhaps,
    /// Programs may read an argument in more than one way.
    Unclear,
}

/// What replaces a missing value.
enum Substitute<'a> {
    Nothing,
    Value(&'a Value),
    Unclear,
}

impl EffectTable {
    /// Creates a table without rows: every call is the worst case.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row, tried after those before it.
    #[must_use]
    pub fn row(mut self, row: EffectRow) -> Self {
        self.rows.push(row);
        self
    }

    /// Declares that the tool never reaches external systems: neither in a row nor in the worst case.
    #[must_use]
    pub fn closed_world(mut self) -> Self {
        self.closed_world = true;
        self
    }

    /// Sets the value that an argument has if a caller leaves it out. The argument is never `null`.
    #[must_use]
    pub fn default_of(mut self, argument: impl Into<Pointer>, value: Value) -> Self {
        self.defaults.push(AssumedValue { at: argument.into(), value, nullable: false });
        self
    }

    /// Sets the default of an argument that may be `null`. The meaning of `null` is then unclear: some programs read it as the
    /// default, and others do not.
    #[must_use]
    pub fn nullable_default_of(mut self, argument: impl Into<Pointer>, value: Value) -> Self {
        self.defaults.push(AssumedValue { at: argument.into(), value, nullable: true });
        self
    }

    /// Declares that every possible call matches some row, so the worst case does not apply. Only code that knows the schema can
    /// tell.
    #[must_use]
    pub fn exhaustive(mut self) -> Self {
        self.exhaustive = true;
        self
    }

    pub(crate) fn is_exhaustive(&self) -> bool {
        self.exhaustive || self.rows.iter().any(|row| row.tests.is_empty())
    }

    /// Returns the rows in order.
    #[must_use]
    pub fn rows(&self) -> &[EffectRow] {
        &self.rows
    }

    /// Returns what a call with these arguments does.
    #[must_use]
    pub fn of(&self, arguments: &Value) -> Hints {
        self.first(arguments)
            .map_or_else(|| self.unknown(), |row| self.in_world(self.rows[row].hints()))
    }

    /// Returns what a call with these arguments does, with the further fields of its row.
    #[must_use]
    pub fn annotations_of(&self, arguments: &Value) -> Annotations {
        let Some(row) = self.first(arguments) else { return self.unknown().into() };
        let annotations = self.rows[row].annotations.clone();
        if self.closed_world { annotations.closed_world() } else { annotations }
    }

    /// Returns the first row that a call with these arguments matches. Returns `None` if it matches none, or if an earlier row is
    /// unclear.
    #[must_use]
    pub fn first(&self, arguments: &Value) -> Option<usize> {
        for (number, row) in self.rows.iter().enumerate() {
            match self.fit(row, arguments, false) {
                RowMatch::Yes => return Some(number),
                RowMatch::No | RowMatch::Perhaps => {}
                RowMatch::Unclear => return None,
            }
        }
        None
    }

    /// Returns what a call with incomplete arguments may do: the worst of what is still possible.
    #[must_use]
    pub fn of_partial(&self, arguments: &Value) -> Hints {
        let mut possible: Option<Hints> = None;
        let mut add = |hints: Hints| {
            let joined = possible.map_or(hints, |so_far| so_far.join(hints));
            possible = Some(joined);
            joined
        };
        for row in &self.rows {
            match self.fit(row, arguments, true) {
                RowMatch::Yes => return add(self.in_world(row.hints())),
                RowMatch::No => {}
                RowMatch::Perhaps => {
                    add(self.in_world(row.hints()));
                }
                RowMatch::Unclear => return self.unknown(),
            }
        }
        if !self.exhaustive {
            add(self.unknown());
        }
        possible.unwrap_or_else(|| self.unknown())
    }

    /// Returns what any call may do.
    #[must_use]
    pub fn worst(&self) -> Hints {
        self.of_partial(&Value::Object(serde_json::Map::new()))
    }

    /// Returns the value that a step to an argument has if a caller leaves it out.
    pub(crate) fn default_at(&self, step: &Pointer) -> Option<&Value> {
        self.defaults.iter().find(|default| default.at == *step).map(|default| &default.value)
    }

    pub(crate) fn in_world(&self, hints: Hints) -> Hints {
        if self.closed_world { hints.closed_world() } else { hints }
    }

    pub(crate) fn unknown(&self) -> Hints {
        self.in_world(Hints::WORST)
    }

    /// Returns what replaces a missing value: the default of the first missing member on the path.
    fn in_place_of(&self, pointer: &Pointer, arguments: &Value) -> Substitute<'_> {
        if self.defaults.is_empty() {
            return Substitute::Nothing;
        }
        let Some(missing) = pointer.steps().find(|step| step.find(arguments).is_none()) else {
            return Substitute::Nothing;
        };
        let default = self.defaults.iter().find(|default| default.at == missing);
        match (default, arguments.pointer(missing.as_str())) {
            (None, _) => Substitute::Nothing,
            // Some programs read an explicit null as the default, and some do not.
            (Some(_), Some(_)) => Substitute::Unclear,
            (Some(default), None) => {
                let rest = &pointer.as_str()[missing.as_str().len()..];
                let value = default.value.pointer(rest).filter(|value| !value.is_null());
                value.map_or(Substitute::Nothing, Substitute::Value)
            }
        }
    }

    fn may_be_null_beside_a_default(&self, pointer: &Pointer) -> bool {
        let nullable = |step: Pointer| self.defaults.iter().any(|d| d.nullable && d.at == step);
        !self.defaults.is_empty() && pointer.steps().any(nullable)
    }

    fn fit(&self, row: &EffectRow, arguments: &Value, partial: bool) -> RowMatch {
        let mut fit = RowMatch::Yes;
        for (pointer, test) in &row.tests {
            let left_out = arguments.pointer(pointer.as_str()).is_none();
            if left_out && partial {
                // The argument may turn out to be unclear, and that is the worst case.
                let unclear = test.may_be_unclear() || self.may_be_null_beside_a_default(pointer);
                fit = fit.max(if unclear { RowMatch::Unclear } else { RowMatch::Perhaps });
                continue;
            }
            let found = match pointer.find(arguments) {
                Some(value) => test.look(Some(value)),
                None => match self.in_place_of(pointer, arguments) {
                    Substitute::Nothing => test.look(None),
                    Substitute::Value(value) => test.look(Some(value)),
                    Substitute::Unclear => ConditionMatch::Unclear,
                },
            };
            match found {
                ConditionMatch::Yes => {}
                // However the other arguments are read, this row does not match.
                ConditionMatch::No => return RowMatch::No,
                ConditionMatch::Unclear => fit = RowMatch::Unclear,
            }
        }
        fit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hints::tests::any_hints;
    use proptest::prelude::*;
    use serde_json::json;

    fn files() -> EffectTable {
        let row =
            |action: &str, hints| EffectRow::when("action", Condition::equals(action)).then(hints);
        EffectTable::new()
            .row(row("read", Hints::READS))
            .row(row("append", Hints::ADDS))
            .row(row("replace", Hints::CHANGES.idempotent()))
            .row(row("delete", Hints::DELETES.idempotent()))
            .closed_world()
    }

    #[test]
    fn first_matching_row_wins() {
        let of = |action: &str| files().of(&json!({"path": "a", "action": action}));
        assert_eq!(of("read"), Hints::new(true, false, true, false));
        assert_eq!(of("append"), Hints::new(false, false, false, false));
        assert_eq!(of("replace"), Hints::CHANGES.idempotent().closed_world());
        assert_eq!(of("delete"), Hints::DELETES.idempotent().closed_world());
        assert_eq!(of("shred"), Hints::new(false, true, false, false));
    }

    #[test]
    fn worst_case_covers_every_row() {
        assert_eq!(files().worst(), Hints::new(false, true, false, false));
        let reads =
            EffectTable::new().row(EffectRow::when("a", Condition::equals(1)).then(Hints::READS));
        assert_eq!(reads.worst(), Hints::WORST);
        assert_eq!(reads.exhaustive().worst(), Hints::READS);
    }

    #[test]
    fn missing_argument_may_take_any_value() {
        let table = files().exhaustive();
        assert_eq!(table.of_partial(&json!({"path": "a"})), table.worst());
        assert!(table.of_partial(&json!({"action": "read"})).is_read_only());
    }

    #[test]
    fn missing_argument_takes_its_default() {
        let table = files().default_of("action", json!("read"));
        assert!(table.of(&json!({})).is_read_only());
        assert_eq!(table.of(&json!({"action": null})), Hints::WORST.closed_world());
        assert!(table.of(&json!({"action": "delete"})).is_destructive());
    }

    #[test]
    fn missing_nested_member_takes_the_default_of_its_pointer() {
        let table = EffectTable::new()
            .row(EffectRow::when("/how/force", Condition::equals(true)).then(Hints::DELETES))
            .row(EffectRow::otherwise(Hints::ADDS));
        let of = |table: &EffectTable, arguments: Value| table.of(&arguments);
        assert_eq!(of(&table, json!({"how": {}})), Hints::ADDS);
        let inner = table.clone().default_of("/how/force", json!(true));
        assert_eq!(of(&inner, json!({"how": {}})), Hints::DELETES);
        // Some programs read null as the default, others as nothing.
        assert_eq!(of(&inner, json!({"how": {"force": null}})), Hints::WORST);
        assert_eq!(of(&inner, json!({"how": {"force": false}})), Hints::ADDS);
        // A missing object has no members that could have defaults.
        assert_eq!(of(&inner, json!({})), Hints::ADDS);
        let outer = table.default_of("/how", json!({"force": true}));
        assert_eq!(of(&outer, json!({})), Hints::DELETES);
        assert_eq!(of(&outer, json!({"how": {}})), Hints::ADDS);
    }

    #[test]
    fn row_matches_nested_method_and_path_together() {
        let row = |method: &str| EffectRow::when("/request/method", Condition::equals(method));
        let table = EffectTable::new().row(row("GET").then(Hints::READS)).row(
            row("POST")
                .and("/request/path", Condition::Glob("/repos/*/*/issues".into()))
                .then(Hints::ADDS),
        );
        let of = |method: &str, path: &str| {
            table.of(&json!({"request": {"method": method, "path": path}}))
        };
        assert!(of("GET", "/repos/a/b").is_read_only());
        assert_eq!(of("POST", "/repos/a/b/issues"), Hints::ADDS);
        assert_eq!(of("POST", "/repos/a/b/issues/../../../admin"), Hints::WORST);
        assert_eq!(of("DELETE", "/repos/a/b"), Hints::WORST);
    }

    #[test]
    fn ambiguous_path_is_the_worst_case() {
        let table = EffectTable::new()
            .row(EffectRow::when("path", Condition::Below("/private".into())).then(Hints::DELETES))
            .row(EffectRow::otherwise(Hints::READS));
        assert_eq!(table.of(&json!({"path": "/public/a"})), Hints::READS);
        assert_eq!(table.of(&json!({"path": "/private/a"})), Hints::DELETES);
        // The last row does not apply, although the first does not match.
        for unclear in ["/%70rivate/a", "/public/../private/a", "//private/a", "private/a", ""] {
            assert_eq!(table.of(&json!({"path": unclear})), Hints::WORST, "{unclear:?}");
        }
        let base = EffectTable::new()
            .row(EffectRow::when("path", Condition::Below("a".into())).then(Hints::READS));
        assert_eq!(base.of(&json!({"path": "a/b"})), Hints::READS);
        assert_eq!(base.of(&json!({"path": "/a/b"})), Hints::WORST);
    }

    #[test]
    fn rows_match_number_ranges_and_presence() {
        let table = EffectTable::new()
            .row(EffectRow::when("n", Condition::Range(None, Some(10.0))).then(Hints::READS))
            .row(EffectRow::when("force", Condition::Absent).then(Hints::ADDS))
            .row(EffectRow::when("force", Condition::Present).then(Hints::DELETES));
        assert_eq!(table.of(&json!({"n": 10})), Hints::READS);
        assert_eq!(table.of(&json!({"n": 10.0})), Hints::READS);
        assert_eq!(table.of(&json!({"n": 11})), Hints::ADDS);
        assert_eq!(table.of(&json!({"n": "5"})), Hints::ADDS);
        assert_eq!(table.of(&json!({"n": 11, "force": false})), Hints::DELETES);
    }

    fn any_test() -> impl Strategy<Value = Condition> {
        let value =
            prop_oneof![Just(json!("x")), Just(json!("y")), Just(json!(1)), Just(json!(2.5))];
        prop_oneof![
            prop::collection::vec(value, 1..3).prop_map(Condition::OneOf),
            Just(Condition::Present),
            Just(Condition::Absent),
            (0..3_i32).prop_map(|n| Condition::Range(Some(f64::from(n)), None)),
            Just(Condition::Below("/x".into())),
            Just(Condition::Glob("/*/y".into())),
        ]
    }

    fn any_table() -> impl Strategy<Value = EffectTable> {
        let tests = prop::collection::vec((prop_oneof![Just("a"), Just("b")], any_test()), 0..3);
        let row = (tests, any_hints()).prop_map(|(tests, hints)| EffectRow {
            tests: tests.into_iter().map(|(at, test)| (Pointer::from(at), test)).collect(),
            annotations: hints.into(),
        });
        (prop::collection::vec(row, 0..5), any::<bool>()).prop_map(|(rows, closed_world)| {
            EffectTable { rows, closed_world, ..EffectTable::default() }
        })
    }

    fn any_arguments() -> impl Strategy<Value = Value> {
        let value = prop_oneof![
            Just(json!("x")),
            Just(json!("y")),
            Just(json!("/x/y")),
            Just(json!("../x")),
            Just(json!("%2e")),
            Just(json!(1)),
            Just(json!(2.5)),
            Just(Value::Null),
            Just(json!({"c": 1})),
        ];
        prop::collection::btree_map(prop_oneof![Just("a"), Just("b"), Just("c")], value, 0..3)
            .prop_map(|members| json!(members))
    }

    proptest! {
        /// The central law: no call is riskier than the hints of its tool, or of a part of the call.
        #[test]
        fn call_is_never_riskier_than_its_tool_or_partial_call(table in any_table(), arguments in any_arguments()) {
            let call = table.of(&arguments);
            prop_assert!(call.is_at_most(table.worst()));
            let members = arguments.as_object().unwrap();
            for left_out in members.keys() {
                let mut partial = members.clone();
                partial.remove(left_out);
                prop_assert!(call.is_at_most(table.of_partial(&Value::Object(partial))), "{table:?} {arguments}");
            }
            prop_assert!(call.is_at_most(table.of_partial(&arguments)));
        }

        #[test]
        fn number_spelling_does_not_change_the_effect(table in any_table()) {
            let other: Value = serde_json::from_str(r#"{"b": 1.0, "a": 1}"#).unwrap();
            prop_assert_eq!(table.of(&json!({"a": 1, "b": 1})), table.of(&other));
        }
    }
}

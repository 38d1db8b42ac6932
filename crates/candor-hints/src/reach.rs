//! Finds the rows of a table that some call matches first.
//!
//! For each argument, values that no test tells apart are in one cell. A row is dead if no choice of cells matches it and none
//! of the rows before it. The search treats arguments as independent of each other. So it may miss a dead row, but it never
//! reports a row that some call matches first.

use serde_json::Value;

use crate::domain::{Cell, Domain};
use crate::path::Path;
use crate::pointer::Pointer;
use crate::table::{EffectRow, EffectTable};
use crate::test::{Condition, ConditionMatch};

/// Why a row of a table is a mistake. Rows are counted from 0.
#[derive(Debug, Clone, PartialEq)]
pub enum RowFlaw<'t> {
    /// The pattern of a test is not a path in normal form.
    Pattern {
        /// The argument.
        at: &'t Pointer,
        /// The test.
        test: &'t Condition,
        /// What is wrong with the pattern.
        problem: String,
    },
    /// No value of the argument passes the test.
    Test {
        /// The argument.
        at: &'t Pointer,
        /// The test.
        test: &'t Condition,
    },
    /// The argument never has one of the values that the test names.
    Value {
        /// The argument.
        at: &'t Pointer,
        /// The value.
        value: &'t Value,
    },
    /// No value passes all tests of one argument.
    Contradiction {
        /// The argument.
        at: &'t Pointer,
    },
    /// Every call that matches the row matches an earlier one, or is unclear there.
    Covered {
        /// Earlier rows that suffice for this.
        by: Vec<usize>,
    },
}

/// Which calls match a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowReach {
    /// None.
    Never,
    /// Some, but each of them matches an earlier row, or is unclear there.
    Later,
    /// Some, and no earlier row.
    First,
}

/// Maximum number of choices to try for a row.
const BUDGET: usize = 20_000;

impl EffectTable {
    /// Finds the rows that no call matches first, and tests that name a value which no call has. `domain` returns the values of an
    /// argument.
    pub fn flaws(&self, domain: impl Fn(&Pointer) -> Domain) -> Vec<(usize, RowFlaw<'_>)> {
        let reach = Reach::of(self, &domain);
        (0..self.rows().len()).filter_map(|row| Some((row, reach.flaw(row)?))).collect()
    }

    /// Returns which calls match each row. `domain` returns the values of an argument.
    pub fn reach(&self, domain: impl Fn(&Pointer) -> Domain) -> Vec<RowReach> {
        let reach = Reach::of(self, &domain);
        let of_row = |row| {
            let earlier: Vec<usize> = (0..row).collect();
            match (reach.is_first(Some(row), &earlier), reach.is_first(Some(row), &[])) {
                (true, _) => RowReach::First,
                (false, true) => RowReach::Later,
                (false, false) => RowReach::Never,
            }
        };
        (0..self.rows().len()).map(of_row).collect()
    }

    /// Returns true if every call matches some row, or is unclear.
    pub fn covers(&self, domain: impl Fn(&Pointer) -> Domain) -> bool {
        let all: Vec<usize> = (0..self.rows().len()).collect();
        !Reach::of(self, &domain).is_first(None, &all)
    }
}

struct Reach<'t> {
    table: &'t EffectTable,
    places: Vec<Place<'t>>,
}

/// All tests of one argument.
struct Place<'t> {
    at: &'t Pointer,
    tests: Vec<&'t Condition>,
    /// `None` if there are too many.
    cells: Option<Vec<Cell>>,
    domain: Domain,
}

impl<'t> Reach<'t> {
    fn of(table: &'t EffectTable, domain: &impl Fn(&Pointer) -> Domain) -> Self {
        let mut places: Vec<Place<'t>> = Vec::new();
        for (at, test) in table.rows().iter().flat_map(EffectRow::tests) {
            match places.iter_mut().find(|place| place.at == at) {
                Some(place) if place.tests.contains(&test) => {}
                Some(place) => place.tests.push(test),
                None => {
                    let (tests, domain) = (vec![test], domain(at));
                    places.push(Place { at, tests, cells: None, domain });
                }
            }
        }
        for place in &mut places {
            place.cells = cells(table, place.at, &place.domain, &place.tests);
        }
        Self { table, places }
    }

    fn flaw(&self, row: usize) -> Option<RowFlaw<'t>> {
        let tests = self.table.rows()[row].tests();
        for (at, test) in tests {
            if let Condition::Below(pattern) | Condition::Glob(pattern) = test
                && let Err(problem) = Path::read(pattern)
            {
                return Some(RowFlaw::Pattern { at, test, problem: problem.to_string() });
            }
        }
        for (at, test) in tests {
            if !self.is_passed(at, &[test]) {
                return Some(RowFlaw::Test { at, test });
            }
        }
        for (at, test) in tests {
            if let Some(value) = test.values().find(|value| !self.has(at, value)) {
                return Some(RowFlaw::Value { at, value });
            }
        }
        for place in &self.places {
            let own: Vec<&Condition> =
                tests.iter().filter(|(at, _)| at == place.at).map(|(_, test)| test).collect();
            if !self.is_passed(place.at, &own) {
                return Some(RowFlaw::Contradiction { at: place.at });
            }
        }
        let mut earlier: Vec<usize> = (0..row).collect();
        if self.is_first(Some(row), &earlier) {
            return None;
        }
        // Try to drop the last rows first: they are the least likely to matter.
        for at in (0..row).rev() {
            let without: Vec<usize> = earlier.iter().copied().filter(|one| *one != at).collect();
            if !self.is_first(Some(row), &without) {
                earlier = without;
            }
        }
        Some(RowFlaw::Covered { by: earlier })
    }

    fn place(&self, at: &Pointer) -> Option<&Place<'t>> {
        self.places.iter().find(|place| place.at == at)
    }

    /// Returns true if some value of an argument passes all of its tests.
    fn is_passed(&self, at: &Pointer, tests: &[&Condition]) -> bool {
        let Some(place) = self.place(at) else { return true };
        let Some(cells) = &place.cells else { return true };
        let asked: Vec<usize> = place.indexes(tests).collect();
        cells.iter().any(|cell| asked.iter().all(|at| cell[*at] == ConditionMatch::Yes))
    }

    /// Returns true if an argument can have this value.
    fn has(&self, at: &Pointer, value: &Value) -> bool {
        let Some(place) = self.place(at) else { return true };
        let alone = Condition::OneOf(vec![value.clone()]);
        let cells = cells(self.table, at, &place.domain, &[&alone]);
        cells.is_none_or(|cells| cells.iter().any(|cell| cell[0] == ConditionMatch::Yes))
    }

    /// Returns true if some call matches a row and none of the earlier ones. Without a row, returns true if some call matches none.
    fn is_first(&self, row: Option<usize>, earlier: &[usize]) -> bool {
        let mut choices: Vec<Vec<Rows>> = Vec::new();
        for place in &self.places {
            let wanted: Vec<&Condition> = row.map_or(Vec::new(), |row| {
                let own = self.table.rows()[row].tests().iter().filter(|(at, _)| at == place.at);
                own.map(|(_, test)| test).collect()
            });
            let excluded = place.exclusions(self.table.rows(), &wanted, earlier);
            if excluded.is_empty() {
                return false;
            }
            choices.push(excluded);
        }
        // Arguments with the fewest choices come first.
        choices.sort_by_key(Vec::len);
        let mut rest = Rows::none(earlier.len());
        let mut reachable = vec![rest.clone()];
        for choice in choices.iter().rev() {
            choice.iter().for_each(|rows| rest.add(rows));
            reachable.push(rest.clone());
        }
        reachable.reverse();
        let mut budget = BUDGET;
        search(&choices, &reachable, &Rows::none(earlier.len()), &mut budget)
    }
}

/// Returns true if one choice for each argument excludes all rows, or if the search takes too long.
fn search(choices: &[Vec<Rows>], reachable: &[Rows], excluded: &Rows, budget: &mut usize) -> bool {
    let mut at_best = excluded.clone();
    at_best.add(&reachable[0]);
    if !at_best.is_all() {
        return false;
    }
    let Some((choice, rest)) = choices.split_first() else { return true };
    for rows in choice {
        let Some(left) = budget.checked_sub(1) else { return true };
        *budget = left;
        let mut excluded = excluded.clone();
        excluded.add(rows);
        if search(rest, &reachable[1..], &excluded, budget) {
            return true;
        }
    }
    false
}

impl Place<'_> {
    fn indexes(&self, tests: &[&Condition]) -> impl Iterator<Item = usize> {
        tests.iter().filter_map(|test| self.tests.iter().position(|own| own == test))
    }

    /// Returns which rows the values that pass some tests exclude. Only the largest sets of rows count.
    fn exclusions(
        &self,
        rows: &[EffectRow],
        wanted: &[&Condition],
        earlier: &[usize],
    ) -> Vec<Rows> {
        let asked = |row: usize| {
            let own = rows[row].tests().iter().filter(|(at, _)| at == self.at);
            self.indexes(&own.map(|(_, test)| test).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        let asked: Vec<Vec<usize>> = earlier.iter().map(|row| asked(*row)).collect();
        let Some(cells) = &self.cells else {
            return vec![Rows::of(asked.iter().map(|tests| !tests.is_empty()))];
        };
        let wanted: Vec<usize> = self.indexes(wanted).collect();
        let mut exclusions: Vec<Rows> = Vec::new();
        for cell in
            cells.iter().filter(|cell| wanted.iter().all(|at| cell[*at] == ConditionMatch::Yes))
        {
            let excluded =
                |tests: &Vec<usize>| tests.iter().any(|at| cell[*at] == ConditionMatch::No);
            let excluded = Rows::of(asked.iter().map(excluded));
            if !exclusions.iter().any(|other| other.has_all(&excluded)) {
                exclusions.retain(|other| !excluded.has_all(other));
                exclusions.push(excluded);
            }
        }
        exclusions
    }
}

/// Returns the cells of an argument, for all values that it can have. Returns `None` if that takes too long.
fn cells(
    table: &EffectTable,
    at: &Pointer,
    domain: &Domain,
    tests: &[&Condition],
) -> Option<Vec<Cell>> {
    let mut cells = Vec::new();
    let look = |value: Option<&Value>| -> Cell { tests.iter().map(|t| t.look(value)).collect() };
    for (number, step) in at.steps().enumerate() {
        let known = domain.step(number);
        let default = table.default_at(&step);
        if known.missing {
            let rest = &at.as_str()[step.as_str().len()..];
            let value = default.and_then(|default| default.pointer(rest));
            cells.push(look(value.filter(|value| !value.is_null())));
        }
        if known.null {
            cells.push(match default {
                Some(_) => vec![ConditionMatch::Unclear; tests.len()],
                None => look(None),
            });
        }
    }
    let known = domain.given.iter().all(|given| given.cells(tests, &mut cells));
    cells.sort_unstable();
    cells.dedup();
    known.then_some(cells)
}

/// A set of earlier rows.
#[derive(Clone, PartialEq, Eq)]
struct Rows {
    bits: Vec<u64>,
    number: usize,
}

impl Rows {
    fn none(number: usize) -> Self {
        Self { bits: vec![0; number.div_ceil(64)], number }
    }

    fn of(rows: impl ExactSizeIterator<Item = bool>) -> Self {
        let mut all = Self::none(rows.len());
        for (at, _) in rows.enumerate().filter(|(_, among)| *among) {
            all.bits[at / 64] |= 1 << (at % 64);
        }
        all
    }

    fn add(&mut self, other: &Self) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(own, other)| *own |= other);
    }

    fn has_all(&self, other: &Self) -> bool {
        self.bits.iter().zip(&other.bits).all(|(own, other)| own & other == *other)
    }

    fn is_all(&self) -> bool {
        self.bits.iter().map(|bits| bits.count_ones() as usize).sum::<usize>() == self.number
    }
}

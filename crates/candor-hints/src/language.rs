//! Finds which results the path tests of an argument can have together.
//!
//! The search reads all strings at once, letter by letter: strings that no pattern tells apart so far are in one state. The
//! number of states is finite, so the search finds each combination of results that some string has.

use std::collections::HashSet;

use serde_json::Value;

use crate::domain::{Cell, Lengths};
use crate::path::{Path, is_ambiguous};
use crate::test::{Condition, ConditionMatch};

/// Maximum number of steps: one for each letter to try and each part of a pattern.
const BUDGET: usize = 2_000_000;

/// Minimum lengths up to this one are respected. A larger one seldom matters, and is ignored.
const COUNTED: usize = 128;

/// Returns the cells of strings of these lengths that no test names. Returns `None` if that takes too long.
pub(crate) fn cells(tests: &[&Condition], lengths: Lengths) -> Option<HashSet<Cell>> {
    let patterns: Vec<Option<Pattern>> = tests.iter().map(|test| Pattern::of(test)).collect();
    if patterns.iter().all(Option::is_none) {
        return Some(HashSet::from([outcomes(tests, &patterns, &State::start(&patterns, &[]))]));
    }
    let named: Vec<&str> =
        tests.iter().flat_map(|test| test.values()).filter_map(Value::as_str).collect();
    let alphabet = alphabet(&patterns, &named);
    let shortest = if lengths.least > COUNTED { 0 } else { lengths.least };
    let mut layer = HashSet::from([State::start(&patterns, &named)]);
    let (mut seen, mut found) = (HashSet::new(), HashSet::new());
    let parts: usize =
        1 + patterns.iter().flatten().map(|pattern| pattern.tokens.len()).sum::<usize>();
    let mut budget = BUDGET;
    for length in 0.. {
        if length >= shortest {
            layer.retain(|state| seen.insert(state.clone()));
            let other = layer.iter().filter(|state| !state.is_one_of(&named));
            found.extend(other.map(|state| outcomes(tests, &patterns, state)));
        }
        if layer.is_empty() || lengths.greatest.is_some_and(|greatest| length >= greatest) {
            break;
        }
        budget = budget.checked_sub(layer.len() * alphabet.len() * parts)?;
        layer = layer
            .iter()
            .flat_map(|state| alphabet.iter().map(|letter| state.after(*letter, &patterns, &named)))
            .collect();
    }
    Some(found)
}

fn outcomes(tests: &[&Condition], patterns: &[Option<Pattern>], state: &State) -> Cell {
    let path = state.path();
    let find = |((test, pattern), reached): ((&&Condition, &Option<Pattern>), &ReachedStates)| {
        match pattern {
            Some(pattern) if path != Some(pattern.absolute) || pattern.abnormal => {
                ConditionMatch::Unclear
            }
            Some(pattern) if reached[pattern.tokens.len()][0] => ConditionMatch::Yes,
            None if **test == Condition::Present => ConditionMatch::Yes,
            _ => ConditionMatch::No,
        }
    };
    tests.iter().zip(patterns).zip(&state.reached).map(find).collect()
}

/// Returns the letters that the tests tell apart, and some that they do not.
fn alphabet(patterns: &[Option<Pattern>], named: &[&str]) -> Vec<char> {
    let tokens = patterns.iter().flatten().flat_map(|pattern| &pattern.tokens);
    let mut letters: HashSet<char> = named.iter().flat_map(|text| text.chars()).collect();
    letters.extend(tokens.filter_map(|token| match token {
        Token::One(letter) => Some(*letter),
        _ => None,
    }));
    let fresh = |mut range: std::ops::RangeInclusive<char>| range.find(|c| !letters.contains(c));
    // One of them is Latin, because a drive has a Latin letter.
    let others = [fresh('a'..='z').or_else(|| fresh('A'..='Z')), fresh('\u{e000}'..='\u{f8ff}')];
    let others: Vec<char> = others.into_iter().flatten().collect();
    letters.extend(['/', '.', '~', ':', '%'].into_iter().chain(others));
    letters.into_iter().collect()
}

/// A pattern as tokens. They match a path with a slash in front of each name and none after the last.
struct Pattern {
    absolute: bool,
    abnormal: bool,
    tokens: Vec<Token>,
}

enum Token {
    One(char),
    /// Any part of a name.
    Part,
    /// Any number of names.
    Names,
}

impl Pattern {
    fn of(test: &Condition) -> Option<Self> {
        let (text, is_glob) = match test {
            Condition::Below(place) => (place, false),
            Condition::Glob(pattern) => (pattern, true),
            _ => return None,
        };
        let Ok(path) = Path::read(text) else {
            return Some(Self { absolute: false, abnormal: true, tokens: Vec::new() });
        };
        let mut tokens = Vec::new();
        for name in &path.names {
            if is_glob && *name == "**" {
                tokens.push(Token::Names);
                continue;
            }
            tokens.push(Token::One('/'));
            tokens.extend(name.chars().map(|letter| match letter {
                '*' if is_glob => Token::Part,
                letter => Token::One(letter),
            }));
        }
        if !is_glob {
            tokens.push(Token::Names);
        }
        Some(Self { absolute: path.absolute, abnormal: false, tokens })
    }

    /// Adds the positions that are reached without a letter.
    fn settle(&self, reached: &mut ReachedStates) {
        for at in 0..self.tokens.len() {
            let [before, within] = reached[at];
            let ends = match self.tokens[at] {
                Token::One(_) => false,
                Token::Part => before,
                Token::Names => before || within,
            };
            reached[at + 1][0] |= ends;
        }
    }

    fn after(&self, letter: char, before: &ReachedStates) -> ReachedStates {
        let mut reached = vec![[false; 2]; before.len()];
        for (at, token) in self.tokens.iter().enumerate() {
            let [here, within] = before[at];
            match token {
                Token::One(one) => reached[at + 1][0] |= here && *one == letter,
                Token::Part => reached[at][0] |= here && letter != '/',
                Token::Names => reached[at][1] |= within || (here && letter == '/'),
            }
        }
        self.settle(&mut reached);
        reached
    }
}

/// For each number of tokens: whether they can match what was read so far, and whether the next token matches names and is
/// within one.
type ReachedStates = Vec<[bool; 2]>;

/// All that matters about the letters so far.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    shape: Shape,
    /// For each test; empty for those without a pattern.
    reached: Vec<ReachedStates>,
    /// The letters themselves, if they begin a string that a test names.
    prefix: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Shape {
    Empty,
    Abnormal,
    Path { absolute: bool, after_slash: bool, first: FirstName, ends_badly: bool },
}

/// How much of the first name was read.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum FirstName {
    Empty,
    Letter,
    Longer,
}

impl State {
    fn start(patterns: &[Option<Pattern>], named: &[&str]) -> Self {
        let start = |pattern: &Option<Pattern>| {
            let Some(pattern) = pattern else { return Vec::new() };
            let mut reached = vec![[false; 2]; pattern.tokens.len() + 1];
            reached[0][0] = true;
            pattern.settle(&mut reached);
            reached
        };
        Self {
            shape: Shape::Empty,
            reached: patterns.iter().map(start).collect(),
            prefix: (!named.is_empty()).then(String::new),
        }
    }

    /// Returns whether the path is absolute. Returns `None` if it is not in normal form.
    fn path(&self) -> Option<bool> {
        match self.shape {
            Shape::Path { absolute, ends_badly: false, .. } => Some(absolute),
            _ => None,
        }
    }

    fn is_one_of(&self, named: &[&str]) -> bool {
        self.prefix.as_deref().is_some_and(|text| named.contains(&text))
    }

    fn after(&self, letter: char, patterns: &[Option<Pattern>], named: &[&str]) -> Self {
        let prefix = self.prefix.as_ref().map(|prefix| format!("{prefix}{letter}"));
        let prefix = prefix.filter(|prefix| named.iter().any(|text| text.starts_with(prefix)));
        let shape = self.shape.after(letter);
        let mut reached = self.reached.clone();
        match (shape, letter) {
            // All such strings are alike.
            (Shape::Abnormal, _) => reached.iter_mut().for_each(Vec::clear),
            // A slash counts only if a name follows.
            (_, '/') => {}
            _ => {
                let begins = !matches!(self.shape, Shape::Path { after_slash: false, .. });
                let letters = begins.then_some('/').into_iter().chain([letter]);
                for letter in letters {
                    for (pattern, reached) in patterns.iter().zip(&mut reached) {
                        if let Some(pattern) = pattern {
                            *reached = pattern.after(letter, reached);
                        }
                    }
                }
            }
        }
        Self { shape, reached, prefix }
    }
}

impl Shape {
    /// Returns the shape after one more letter. Does what [`Path::read`] does, letter by letter.
    fn after(self, letter: char) -> Self {
        let (absolute, after_slash, first, ends_badly) = match self {
            Self::Abnormal => return self,
            _ if is_ambiguous(letter) => return Self::Abnormal,
            Self::Empty if letter == '/' => {
                return Self::Path {
                    absolute: true,
                    after_slash: true,
                    first: FirstName::Empty,
                    ends_badly: false,
                };
            }
            Self::Empty => (false, true, FirstName::Empty, false),
            Self::Path { absolute, after_slash, first, ends_badly } => {
                (absolute, after_slash, first, ends_badly)
            }
        };
        if letter == '/' {
            return match after_slash || ends_badly {
                true => Self::Abnormal,
                false => {
                    Self::Path { absolute, after_slash: true, first: FirstName::Longer, ends_badly }
                }
            };
        }
        let first = match (first, letter) {
            (FirstName::Empty, '~') | (FirstName::Letter, ':') => return Self::Abnormal,
            (FirstName::Empty, letter) if letter.is_ascii_alphabetic() => FirstName::Letter,
            _ => FirstName::Longer,
        };
        let ends_badly = matches!(letter, '.' | ' ');
        Self::Path { absolute, after_slash: false, first, ends_badly }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One for each kind of letter, and `c` and `é` for those that no pattern has.
    const LETTERS: [char; 9] = ['/', 'a', 'b', 'c', '.', '~', ':', '%', 'é'];

    fn all_strings(longest: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut from = 0;
        for _ in 0..longest {
            let to = all.len();
            for at in from..to {
                let longer: Vec<_> = LETTERS.iter().map(|c| format!("{}{c}", all[at])).collect();
                all.extend(longer);
            }
            from = to;
        }
        all
    }

    fn any_test() -> impl Strategy<Value = Condition> {
        prop_oneof![
            2 => "/?[ab]{1,2}(/[ab]{1,2}){0,2}".prop_map(Condition::Below),
            4 => "/?[ab*]{1,2}(/([ab*]{1,2}|\\*\\*)){0,2}".prop_map(Condition::Glob),
            1 => "[/ab.]{1,3}".prop_map(Condition::Glob),
            1 => Just(Condition::Glob("/".into())),
            2 => "[/ab.]{0,3}".prop_map(Condition::equals),
            1 => Just(Condition::Present),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn outcomes_are_those_of_real_strings(
            tests in prop::collection::vec(any_test(), 1..4), least in 0..4_usize, more in 0..4_usize,
        ) {
            let greatest = (least + more).min(4);
            let tests: Vec<&Condition> = tests.iter().collect();
            let found = cells(&tests, Lengths { least, greatest: Some(greatest) }).unwrap();
            let named: Vec<&str> = tests.iter().flat_map(|t| t.values()).filter_map(Value::as_str).collect();
            let only_names = tests.iter().all(|test| Pattern::of(test).is_none());
            let look = |text: &String| -> Cell {
                let value = Value::from(text.as_str());
                tests.iter().map(|test| test.look(Some(&value))).collect()
            };
            let strings = all_strings(greatest).into_iter().filter(|text| text.chars().count() >= least);
            let expected: HashSet<Cell> = strings.filter(|text| !named.contains(&text.as_str())).map(|text| look(&text)).collect();
            prop_assert!(expected.is_subset(&found));
            prop_assert!(only_names || found == expected, "{found:?} {expected:?}");
        }

        #[test]
        fn no_outcome_of_a_long_string_is_missed(
            tests in prop::collection::vec(any_test(), 1..4), text in "/?[abcé~:.]{0,3}(/[abcé.:~]{0,3}){0,4}",
        ) {
            let tests: Vec<&Condition> = tests.iter().collect();
            let value = Value::from(text.as_str());
            let outcomes: Cell = tests.iter().map(|test| test.look(Some(&value))).collect();
            let named = tests.iter().any(|test| matches!(test, Condition::OneOf(values) if values.contains(&value)));
            let found = cells(&tests, Lengths::default()).unwrap();
            prop_assert!(named || found.contains(&outcomes));
        }
    }
}

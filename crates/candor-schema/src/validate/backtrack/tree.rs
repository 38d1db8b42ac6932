//! Parses a pattern into a tree.

use std::collections::HashMap;
use std::ops::Range;

use regex_automata::util::syntax;
use regex_syntax::hir::{Class, HirKind};

use super::super::patterns::grammar;
use super::super::reader::{ANYTHING, LINE_ENDS, Reader};

/// Maximum nesting of groups.
const DEEPEST: usize = 128;

/// The characters of a class: ranges in order, both ends included.
pub(super) type Set = Box<[(char, char)]>;

/// A part of a pattern.
pub(super) enum PatternNode {
    /// One character of a set.
    Set(usize),
    Assertion(Assertion),
    Capture(usize, Box<PatternNode>),
    /// The text that a group matched.
    Back {
        group: usize,
        fold: bool,
    },
    Look {
        behind: bool,
        negated: bool,
        inner: Box<PatternNode>,
    },
    Repeat {
        inner: Box<PatternNode>,
        least: u32,
        most: Option<u32>,
        greedy: bool,
        groups: Range<usize>,
    },
    Sequence(Vec<PatternNode>),
    Either(Vec<PatternNode>),
}

/// A place in the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Assertion {
    Start,
    StartOfLine,
    End,
    EndOfLine,
    Boundary,
    NoBoundary,
}

/// A parsed pattern.
pub(super) struct Tree {
    pub(super) root: PatternNode,
    pub(super) sets: Vec<Set>,
    pub(super) groups: usize,
    /// The pattern has back-references.
    pub(super) refers: bool,
}

/// Parses a pattern whose sets take at most `room` bytes, or says what is wrong with it.
pub(super) fn parse(pattern: &str, room: usize) -> Result<Tree, String> {
    let mut parser = Parser {
        reader: Reader { rest: pattern.chars().peekable() },
        sets: Vec::new(),
        known: HashMap::new(),
        room,
        groups: 0,
        names: HashMap::new(),
        numbered: Vec::new(),
        named: Vec::new(),
        fold: false,
        lines: false,
        dots: false,
        depth: 0,
    };
    let mut root = parser.either()?;
    if parser.reader.rest.next().is_some() {
        return Err("a `)` was never opened".to_owned());
    }
    let refers = !parser.numbered.is_empty() || !parser.named.is_empty();
    if let Some(group) = parser.numbered.iter().find(|group| **group > parser.groups) {
        return Err(format!("it refers to group {group}, which is not there"));
    }
    if let Some(name) = parser.named.iter().find(|name| !parser.names.contains_key(*name)) {
        return Err(format!("it refers to group `{name}`, which is not there"));
    }
    let Parser { names, named, sets, groups, .. } = parser;
    resolve(&mut root, groups, &|i| names[&named[i]]);
    Ok(Tree { root, sets, groups, refers })
}

/// Resolves references by name. A reference may precede its group, so until now it holds the index of its name, counted down
/// from `usize::MAX`.
fn resolve(node: &mut PatternNode, groups: usize, of: &dyn Fn(usize) -> usize) {
    match node {
        PatternNode::Back { group, .. } if *group > groups => *group = of(usize::MAX - *group),
        PatternNode::Set(_) | PatternNode::Assertion(_) | PatternNode::Back { .. } => {}
        PatternNode::Capture(_, inner)
        | PatternNode::Look { inner, .. }
        | PatternNode::Repeat { inner, .. } => {
            resolve(inner, groups, of);
        }
        PatternNode::Sequence(nodes) | PatternNode::Either(nodes) => {
            nodes.iter_mut().for_each(|node| resolve(node, groups, of));
        }
    }
}

/// Returns about how many bytes sets take.
pub(super) fn bytes_of(sets: &[Set]) -> usize {
    sets.iter().map(|set| size_of_val(&**set) + 64).sum()
}

struct Parser<'p> {
    reader: Reader<'p>,
    sets: Vec<Set>,
    /// The same class is compiled once.
    known: HashMap<String, usize>,
    room: usize,
    groups: usize,
    names: HashMap<String, usize>,
    numbered: Vec<usize>,
    named: Vec<String>,
    /// The flags `i`, `m` and `s`.
    fold: bool,
    lines: bool,
    dots: bool,
    depth: usize,
}

impl Parser<'_> {
    fn either(&mut self) -> Result<PatternNode, String> {
        if self.depth == DEEPEST {
            return Err(format!("its groups are nested more than {DEEPEST} levels deep"));
        }
        self.depth += 1;
        let mut branches = vec![self.sequence()?];
        while self.reader.rest.next_if_eq(&'|').is_some() {
            branches.push(self.sequence()?);
        }
        self.depth -= 1;
        Ok(match branches.len() {
            1 => branches.remove(0),
            _ => PatternNode::Either(branches),
        })
    }

    fn sequence(&mut self) -> Result<PatternNode, String> {
        let mut nodes = Vec::new();
        while self.reader.rest.peek().is_some_and(|c| !matches!(c, '|' | ')')) {
            let before = self.groups;
            let Some(node) = self.item()? else { continue };
            nodes.push(self.repeated(node, before + 1)?);
        }
        Ok(PatternNode::Sequence(nodes))
    }

    /// Parses one item without its count. Returns `None` for flags.
    fn item(&mut self) -> Result<Option<PatternNode>, String> {
        let Some(c) = self.reader.rest.next() else { return Ok(None) };
        Ok(Some(match c {
            '^' if self.lines => PatternNode::Assertion(Assertion::StartOfLine),
            '^' => PatternNode::Assertion(Assertion::Start),
            '$' if self.lines => PatternNode::Assertion(Assertion::EndOfLine),
            '$' => PatternNode::Assertion(Assertion::End),
            '\\' => self.escape()?,
            '[' => {
                let class = self.reader.class()?;
                self.set(&class)?
            }
            '.' if self.dots => self.set(ANYTHING)?,
            '.' => self.set(&format!("[^{LINE_ENDS}]"))?,
            '(' => return self.group(),
            '*' | '+' | '?' => return Err(format!("there is nothing to repeat before `{c}`")),
            '{' if self.reader.counts() => {
                return Err("there is nothing to repeat before `{`".to_owned());
            }
            c => self.one(c)?,
        }))
    }

    fn one(&mut self, c: char) -> Result<PatternNode, String> {
        self.set(&format!("\\x{{{:x}}}", u32::from(c)))
    }

    fn set(&mut self, class: &str) -> Result<PatternNode, String> {
        let class = if self.fold { format!("(?i:{class})") } else { class.to_owned() };
        if let Some(known) = self.known.get(&class) {
            return Ok(PatternNode::Set(*known));
        }
        let set = ranges(&class)?;
        let size = bytes_of(std::slice::from_ref(&set)) + class.len();
        self.room = self
            .room
            .checked_sub(size)
            .ok_or("it takes too much memory; its classes have too many characters")?;
        self.known.insert(class, self.sets.len());
        self.sets.push(set);
        Ok(PatternNode::Set(self.sets.len() - 1))
    }

    fn escape(&mut self) -> Result<PatternNode, String> {
        let rest = &mut self.reader.rest;
        match rest.peek() {
            Some('b') => {
                rest.next();
                Ok(PatternNode::Assertion(Assertion::Boundary))
            }
            Some('B') => {
                rest.next();
                Ok(PatternNode::Assertion(Assertion::NoBoundary))
            }
            Some('k') => {
                rest.next();
                let name = self.reader.referred()?;
                self.named.push(name);
                let group = usize::MAX - (self.named.len() - 1);
                Ok(PatternNode::Back { group, fold: self.fold })
            }
            Some('1'..='9') => {
                let group = self.number() as usize;
                self.numbered.push(group);
                Ok(PatternNode::Back { group, fold: self.fold })
            }
            _ => {
                let class = self.reader.atom()?.as_class();
                self.set(&class)
            }
        }
    }

    fn number(&mut self) -> u32 {
        let mut number = 0_u32;
        while let Some(digit) = self.reader.rest.peek().and_then(|c| c.to_digit(10)) {
            self.reader.rest.next();
            number = number.saturating_mul(10).saturating_add(digit);
        }
        number
    }

    fn group(&mut self) -> Result<Option<PatternNode>, String> {
        let flags = (self.fold, self.lines, self.dots);
        let node = if self.reader.rest.next_if_eq(&'?').is_none() {
            self.capture()?
        } else {
            match self.reader.rest.next() {
                Some(':') => self.either()?,
                Some('=') => self.look(false, false)?,
                Some('!') => self.look(false, true)?,
                Some('<') if self.reader.rest.next_if_eq(&'=').is_some() => {
                    self.look(true, false)?
                }
                Some('<') if self.reader.rest.next_if_eq(&'!').is_some() => {
                    self.look(true, true)?
                }
                Some('<') => {
                    let name = self.reader.name()?;
                    if self.names.insert(name.clone(), self.groups + 1).is_some() {
                        return Err(format!("two groups have the name `{name}`"));
                    }
                    self.capture()?
                }
                flag => match self.flags(flag)? {
                    ')' => return Ok(None),
                    _ => self.either()?,
                },
            }
        };
        (self.fold, self.lines, self.dots) = flags;
        match self.reader.rest.next() {
            Some(_) => Ok(Some(node)),
            None => Err("a `(` is never closed".to_owned()),
        }
    }

    fn capture(&mut self) -> Result<PatternNode, String> {
        self.groups += 1;
        let number = self.groups;
        Ok(PatternNode::Capture(number, Box::new(self.either()?)))
    }

    fn look(&mut self, behind: bool, negated: bool) -> Result<PatternNode, String> {
        Ok(PatternNode::Look { behind, negated, inner: Box::new(self.either()?) })
    }

    /// Reads flags and returns what follows them: `:` or `)`.
    fn flags(&mut self, first: Option<char>) -> Result<char, String> {
        let (mut next, mut on) = (first, true);
        loop {
            match next {
                Some('i') => self.fold = on,
                Some('m') => self.lines = on,
                Some('s') => self.dots = on,
                Some('-') if on => on = false,
                Some(end @ (':' | ')')) => return Ok(end),
                Some(other) => return Err(format!("`{other}` is not a flag")),
                None => return Err("a `(` is never closed".to_owned()),
            }
            next = self.reader.rest.next();
        }
    }

    /// Returns true if the next brace begins a count.
    fn is_counted(&self) -> bool {
        let mut ahead = Reader { rest: self.reader.rest.clone() };
        ahead.rest.next().is_some() && ahead.counts()
    }

    /// Parses the count that follows a part.
    fn repeated(&mut self, node: PatternNode, first_group: usize) -> Result<PatternNode, String> {
        let (least, most) = match self.reader.rest.peek().copied() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') if self.is_counted() => {
                self.reader.rest.next();
                let least = self.number();
                let most = match self.reader.rest.next_if_eq(&',') {
                    None => Some(least),
                    Some(_) if self.reader.rest.peek() == Some(&'}') => None,
                    Some(_) => Some(self.number()),
                };
                (least, most)
            }
            _ => return Ok(node),
        };
        self.reader.rest.next();
        if most.is_some_and(|most| most < least) {
            return Err("a count goes backwards".to_owned());
        }
        let greedy = self.reader.rest.next_if_eq(&'?').is_none();
        let groups = first_group..self.groups + 1;
        Ok(PatternNode::Repeat { inner: Box::new(node), least, most, greedy, groups })
    }
}

/// Returns the characters of a class that is in the syntax of the linear engine.
fn ranges(class: &str) -> Result<Set, String> {
    let hir = syntax::parse_with(class, &grammar()).map_err(|error| {
        let text = error.to_string();
        text.rsplit("error: ").next().unwrap_or_default().to_owned()
    })?;
    let of_chars = |text: &str| text.chars().map(|c| (c, c)).collect();
    Ok(match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => {
            class.ranges().iter().map(|range| (range.start(), range.end())).collect()
        }
        HirKind::Class(Class::Bytes(class)) => {
            class.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect()
        }
        HirKind::Literal(literal) => of_chars(std::str::from_utf8(&literal.0).unwrap_or_default()),
        _ => return Err(format!("{class} is not a character class")),
    })
}

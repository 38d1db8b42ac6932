//! Objects: which members they have, and the schemas of members and names.
//!
//! The members are walked once. Callers mostly send them in the order in which the schema declares them. So the next
//! declared name is tried first, and most names cost one comparison.

use serde_json::{Map, Value};

use super::Validator;
use super::compile::Compiler;
use super::failure::{Faults, Kind, Path, Spot};
use super::names::{Index, Name, Print};
use super::node::{NodeId, Rest};
use super::patterns::Pattern;
use super::run::Run;
use super::seldom::Seldom;
use super::shape::{Problem, Shape};
use crate::violation::below;

/// This many required properties are tracked in bits. The others are looked up.
const TICKED: usize = 64;

/// What a schema requires of objects.
pub(super) struct Objects {
    /// In the order of their declaration.
    properties: Box<[Property]>,
    index: Index,
    pub(super) patterns: Box<[(Pattern, NodeId)]>,
    pub(super) rest: Rest,
    /// The schema has neither `properties` nor `patternProperties`.
    bare: bool,
    /// A bit for each declared property that is required.
    required: u64,
    /// Other required members.
    required_beside: Box<[Box<str>]>,
    /// Keywords that few schemas have.
    pub(super) seldom: Option<Box<Seldom>>,
}

/// A declared member.
pub(super) struct Property {
    name: Name,
    node: NodeId,
}

impl Objects {
    /// Compiles the keywords for objects. Returns `None` if they require nothing.
    pub(super) fn compile(
        shape: &Shape<'_>,
        compiler: &mut Compiler<'_>,
    ) -> Result<Option<Self>, Problem> {
        let seldom = Seldom::compile(shape, compiler)?;
        let mut properties = Vec::new();
        for (name, schema) in shape.members("properties")?.into_iter().flatten() {
            properties.push(Property { name: Name::new(name), node: compiler.child(schema)? });
        }
        let mut patterns = Vec::new();
        for (pattern, schema) in shape.members("patternProperties")?.into_iter().flatten() {
            let place = || below("/patternProperties", pattern);
            let compiled = compiler.patterns.compile(pattern);
            let compiled = compiled.map_err(|e| Problem::Unusable(format!("{}: {e}", place())))?;
            patterns.push((compiled, compiler.child(schema)?));
        }
        let rest = match shape.get("additionalProperties") {
            Some(schema) => compiler.rest(Some(schema))?,
            None => Rest::Unsaid,
        };
        let required = shape.names("required")?;
        let mut objects = Self::new(properties, patterns, rest, &required, seldom);
        objects.bare =
            shape.get("properties").is_none() && shape.get("patternProperties").is_none();
        Ok((!objects.says_nothing()).then_some(objects))
    }

    fn new(
        properties: Vec<Property>,
        patterns: Vec<(Pattern, NodeId)>,
        rest: Rest,
        required: &[&str],
        seldom: Seldom,
    ) -> Self {
        let names: Vec<&Name> = properties.iter().map(|property| &property.name).collect();
        let index = Index::new(&names);
        let mut objects = Self {
            properties: properties.into(),
            index,
            patterns: patterns.into(),
            rest,
            bare: false,
            required: 0,
            required_beside: Box::default(),
            seldom: (!seldom.says_nothing()).then(|| Box::new(seldom)),
        };
        let mut beside: Vec<Box<str>> = Vec::new();
        for name in required {
            match objects.search(Print::of(name), name) {
                Some(i) if i < TICKED => objects.required |= 1 << i,
                _ => beside.push((*name).into()),
            }
        }
        objects.required_beside = beside.into();
        objects
    }

    fn says_nothing(&self) -> bool {
        self.properties.is_empty()
            && self.patterns.is_empty()
            && self.rest == Rest::Unsaid
            && self.required == 0
            && self.required_beside.is_empty()
            && self.seldom.is_none()
    }

    pub(super) fn lead(&mut self, show: &mut dyn FnMut(&mut NodeId, bool)) {
        self.properties.iter_mut().for_each(|property| show(&mut property.node, false));
        self.patterns.iter_mut().for_each(|(_, node)| show(node, false));
        self.rest.lead(&mut |node| show(node, false));
        if let Some(seldom) = &mut self.seldom {
            seldom.lead(show);
        }
    }

    /// Returns the index of a declared property; `next` is the likely one.
    #[inline]
    pub(super) fn position(&self, name: &str, next: &mut usize) -> Option<usize> {
        let print = Print::of(name);
        let found = match self.properties.get(*next) {
            Some(property) if property.name.is(print, name) => *next,
            _ => self.search(print, name)?,
        };
        *next = found + 1;
        Some(found)
    }

    fn search(&self, print: Print, name: &str) -> Option<usize> {
        self.index.find(print, name, |i| self.properties.get(i).map(|property| &property.name))
    }

    pub(super) fn fit(
        &self,
        validator: &Validator,
        value: &Value,
        members: &Map<String, Value>,
        run: &mut Run,
    ) -> bool {
        run.charge(members.len() * (1 + self.patterns.len()));
        let (mut seen, mut next) = (0_u64, 0);
        for (name, member) in members {
            let mut known = false;
            if let Some(i) = self.position(name, &mut next) {
                if i < TICKED {
                    seen |= 1 << i;
                }
                if !validator.fits(self.properties[i].node, member, run) {
                    return false;
                }
                known = true;
            }
            for (pattern, node) in &self.patterns {
                if pattern.matches(name, run) {
                    if !validator.fits(*node, member, run) {
                        return false;
                    }
                    known = true;
                }
            }
            if known {
                continue;
            }
            match self.rest {
                Rest::Unsaid | Rest::Allowed => {}
                Rest::Forbidden => return false,
                Rest::Schema(node) => {
                    if !validator.fits(node, member, run) {
                        return false;
                    }
                }
            }
        }
        seen & self.required == self.required
            && self.has_all_beside(members, run)
            && self.seldom.as_ref().is_none_or(|seldom| seldom.fits(validator, value, members, run))
    }

    fn has_all_beside(&self, members: &Map<String, Value>, run: &mut Run) -> bool {
        run.charge(self.required_beside.len());
        self.required_beside.iter().all(|name| members.contains_key(&**name))
    }

    pub(super) fn faults<'v>(
        &self,
        validator: &Validator,
        spot: &Spot<'_, 'v>,
        run: &mut Run,
        out: &mut Faults<'v>,
    ) {
        let Value::Object(members) = spot.value else { return };
        if let Some(seldom) = &self.seldom {
            seldom.faults_of_counts(members, spot, out);
        }
        self.say_missing(members, spot, run, out);
        if let Some(seldom) = &self.seldom {
            seldom.say_lacking(members, spot, run, out);
        }
        self.faults_of_members(validator, members, spot, run, out);
        if let Some(seldom) = &self.seldom {
            seldom.faults(validator, members, spot, run, out);
        }
    }

    fn say_missing<'v>(
        &self,
        members: &Map<String, Value>,
        spot: &Spot<'_, 'v>,
        run: &mut Run,
        out: &mut Faults<'v>,
    ) {
        run.charge(self.properties.len() + self.required_beside.len());
        let ticked = self.properties.iter().take(TICKED).enumerate();
        let ticked = ticked.filter(|(i, _)| self.required & (1 << i) != 0);
        let ticked = ticked.map(|(_, property)| &property.name.text);
        let missing: Vec<String> = ticked
            .chain(&self.required_beside)
            .filter(|name| !members.contains_key(&***name))
            .map(ToString::to_string)
            .collect();
        if !missing.is_empty() {
            out.say(spot, "required", Kind::Missing(missing));
        }
    }

    fn faults_of_members<'v>(
        &self,
        validator: &Validator,
        members: &'v Map<String, Value>,
        spot: &Spot<'_, 'v>,
        run: &mut Run,
        out: &mut Faults<'v>,
    ) {
        run.charge(members.len() * (1 + self.patterns.len()));
        if self.bare && self.rest == Rest::Forbidden && !members.is_empty() {
            out.plain(spot, "additionalProperties");
            return;
        }
        if matches!(self.rest, Rest::Unsaid | Rest::Allowed) {
            self.faults_of_known(validator, members, spot, run, out);
            return;
        }
        let mut next = 0;
        let mut unknown = Vec::new();
        for (name, member) in members {
            if out.is_full() {
                return;
            }
            let at = Path::Member(spot.at, name);
            let mut known = false;
            if let Some(i) = self.position(name, &mut next) {
                validator.faults(self.properties[i].node, member, &at, run, out);
                known = true;
            }
            for (pattern, node) in &self.patterns {
                if pattern.matches(name, run) {
                    validator.faults(*node, member, &at, run, out);
                    known = true;
                }
            }
            match self.rest {
                Rest::Schema(node) if !known => validator.faults(node, member, &at, run, out),
                Rest::Forbidden if !known && unknown.len() < 100 => unknown.push(name.clone()),
                _ => {}
            }
        }
        if !unknown.is_empty() {
            out.say(spot, "additionalProperties", Kind::Unknown(unknown));
        }
    }

    /// Adds the failures of an open object: first those of its properties, then those of members that match a pattern.
    fn faults_of_known<'v>(
        &self,
        validator: &Validator,
        members: &'v Map<String, Value>,
        spot: &Spot<'_, 'v>,
        run: &mut Run,
        out: &mut Faults<'v>,
    ) {
        let mut next = 0;
        let mut known: Vec<(usize, &String, &'v Value)> = members
            .iter()
            .filter_map(|(name, member)| Some((self.position(name, &mut next)?, name, member)))
            .collect();
        if members.len() > self.properties.len() {
            known.sort_unstable_by_key(|(i, ..)| *i);
        }
        for (i, name, member) in known {
            let at = Path::Member(spot.at, name);
            validator.faults(self.properties[i].node, member, &at, run, out);
        }
        for (pattern, node) in &self.patterns {
            for (name, member) in members {
                if !out.is_full() && pattern.matches(name, run) {
                    validator.faults(*node, member, &Path::Member(spot.at, name), run, out);
                }
            }
        }
    }
}

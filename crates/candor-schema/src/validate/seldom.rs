//! Object keywords that few schemas have: the number of members, their names, and dependencies between members.

use serde_json::{Map, Value};

use super::Validator;
use super::compile::Compiler;
use super::draft::Draft;
use super::failure::{Faults, Kind, Spot};
use super::node::{NodeId, Rest};
use super::run::Run;
use super::shape::{Shape, names};

/// Members, and those that each of them requires.
type Dependent = [(Box<str>, Box<[Box<str>]>)];

/// Keywords for objects that few schemas have.
#[derive(Default)]
pub(super) struct Seldom {
    min_properties: Option<u64>,
    max_properties: Option<u64>,
    names: Rest,
    /// If one member is present, others must be.
    dependent_required: Box<Dependent>,
    /// The same from the older keyword `dependencies`: its failures name that keyword, and come later.
    dependencies: Box<Dependent>,
    /// If a member is present, the whole object must match a schema.
    dependent_schemas: Box<[(Box<str>, NodeId)]>,
}

impl Seldom {
    pub(super) fn says_nothing(&self) -> bool {
        self.min_properties.is_none()
            && self.max_properties.is_none()
            && matches!(self.names, Rest::Unsaid | Rest::Allowed)
            && self.dependent_required.is_empty()
            && self.dependencies.is_empty()
            && self.dependent_schemas.is_empty()
    }

    /// Compiles the keywords that few schemas have.
    pub(super) fn compile(shape: &Shape<'_>, compiler: &Compiler<'_>) -> Result<Self, String> {
        let mut seldom = Self {
            min_properties: shape.count("minProperties")?.filter(|limit| *limit > 0),
            max_properties: shape.count("maxProperties")?,
            ..Self::default()
        };
        if let Some(schema) = shape.since(Draft::Six, "propertyNames") {
            seldom.names = compiler.rest(Some(schema))?;
        }
        seldom.depend(shape, compiler)?;
        Ok(seldom)
    }

    pub(super) fn lead(&mut self, show: &mut dyn FnMut(&mut NodeId, bool)) {
        self.names.lead(&mut |node| show(node, false));
        self.dependent_schemas.iter_mut().for_each(|(_, node)| show(node, true));
    }

    pub(super) fn faults_of_counts<'v>(
        &self,
        members: &Map<String, Value>,
        spot: &Spot<'_, 'v>,
        out: &mut Faults<'v>,
    ) {
        let length = members.len() as u64;
        if self.min_properties.is_some_and(|limit| length < limit) {
            out.plain(spot, "minProperties");
        }
        if self.max_properties.is_some_and(|limit| length > limit) {
            out.plain(spot, "maxProperties");
        }
    }

    pub(super) fn say_lacking<'v>(
        &self,
        members: &Map<String, Value>,
        spot: &Spot<'_, 'v>,
        run: &mut Run,
        out: &mut Faults<'v>,
    ) {
        say_dependent(&self.dependent_required, "dependentRequired", members, spot, run, out);
    }

    /// Compiles the dependencies between members.
    fn depend(&mut self, shape: &Shape<'_>, compiler: &Compiler<'_>) -> Result<(), String> {
        let boxed = |names: Vec<&str>| names.into_iter().map(Into::into).collect();
        let mut schemas = Vec::new();
        let mut required = Vec::new();
        for (name, value) in shape.members("dependencies")?.into_iter().flatten() {
            match names(value) {
                Some(others) => required.push((name.as_str().into(), boxed(others))),
                None if value.is_array() => {
                    return shape.wrong("dependencies", "schemas or arrays of different strings");
                }
                None => schemas.push((name.as_str().into(), compiler.child(value)?)),
            }
        }
        self.dependencies = required.into();
        if shape.draft >= Draft::Nineteen {
            let mut required = Vec::new();
            for (name, value) in shape.members("dependentRequired")?.into_iter().flatten() {
                let Some(others) = names(value) else {
                    return shape.wrong("dependentRequired", "arrays of strings that all differ");
                };
                required.push((name.as_str().into(), boxed(others)));
            }
            self.dependent_required = required.into();
            for (name, schema) in shape.members("dependentSchemas")?.into_iter().flatten() {
                schemas.push((name.as_str().into(), compiler.child(schema)?));
            }
        }
        self.dependent_schemas = schemas.into();
        Ok(())
    }

    pub(super) fn fits(
        &self,
        validator: &Validator,
        value: &Value,
        members: &Map<String, Value>,
        run: &mut Run,
    ) -> bool {
        let length = members.len() as u64;
        self.min_properties.is_none_or(|limit| length >= limit)
            && self.max_properties.is_none_or(|limit| length <= limit)
            && self.names_fit(validator, members, run)
            && lack(&self.dependent_required, members, run).next().is_none()
            && lack(&self.dependencies, members, run).next().is_none()
            && self.dependent(members, run).into_iter().all(|node| validator.fits(node, value, run))
    }

    fn names_fit(
        &self,
        validator: &Validator,
        members: &Map<String, Value>,
        run: &mut Run,
    ) -> bool {
        let node = match self.names {
            Rest::Unsaid | Rest::Allowed => return true,
            Rest::Forbidden => return members.is_empty(),
            Rest::Schema(node) => node,
        };
        run.charge(members.len());
        // One string for all names.
        let mut value = Value::String(String::new());
        members.keys().all(|name| {
            if let Value::String(text) = &mut value {
                text.clear();
                text.push_str(name);
            }
            validator.fits(node, &value, run)
        })
    }

    /// Returns the schemas that apply because of the members that are present.
    pub(super) fn dependent(&self, members: &Map<String, Value>, run: &mut Run) -> Vec<NodeId> {
        run.charge(self.dependent_schemas.len());
        let there = self.dependent_schemas.iter().filter(|(name, _)| members.contains_key(&**name));
        there.map(|(_, node)| *node).collect()
    }

    pub(super) fn faults<'v>(
        &self,
        validator: &Validator,
        members: &'v Map<String, Value>,
        spot: &Spot<'_, 'v>,
        run: &mut Run,
        out: &mut Faults<'v>,
    ) {
        match self.names {
            Rest::Unsaid | Rest::Allowed => {}
            Rest::Forbidden if members.is_empty() => {}
            Rest::Forbidden => out.plain(spot, "false"),
            Rest::Schema(node) => {
                run.charge(members.len());
                for name in members.keys() {
                    if out.is_full() {
                        return;
                    }
                    let name = Value::String(name.clone());
                    let mut inner = Faults::new(run);
                    validator.faults(node, &name, spot.at, run, &mut inner);
                    out.say_of_name(spot, inner);
                }
            }
        }
        say_dependent(&self.dependencies, "dependencies", members, spot, run, out);
        for node in self.dependent(members, run) {
            validator.faults(node, spot.value, spot.at, run, out);
        }
    }
}

/// Returns the members that are missing although others require them.
fn lack<'o>(
    dependent: &'o Dependent,
    members: &'o Map<String, Value>,
    run: &mut Run,
) -> impl Iterator<Item = &'o str> {
    run.charge(dependent.iter().map(|(_, names)| 1 + names.len()).sum());
    dependent
        .iter()
        .filter(|(name, _)| members.contains_key(&**name))
        .flat_map(|(_, names)| names.iter())
        .map(|name| &**name)
        .filter(|name| !members.contains_key(*name))
}

fn say_dependent<'v>(
    dependent: &Dependent,
    keyword: &'static str,
    members: &Map<String, Value>,
    spot: &Spot<'_, 'v>,
    run: &mut Run,
    out: &mut Faults<'v>,
) {
    let missing: Vec<String> = lack(dependent, members, run).map(ToOwned::to_owned).collect();
    if !missing.is_empty() {
        out.say(spot, keyword, Kind::Missing(missing));
    }
}

//! Compiles a document into numbered schemas.

use std::collections::HashMap;

use serde_json::Value;

use super::Validator;
use super::applicators::Condition;
use super::arrays::Arrays;
use super::circles;
use super::document::Document;
use super::draft::Draft;
use super::node::{Keyword, Node, NodeId, Rest};
use super::numbers::Numbers;
use super::objects::Objects;
use super::options::Options;
use super::patterns::Patterns;
use super::refs::Dynamic;
use super::shape::{Problem, Shape};
use super::strings::Strings;
use super::types::Types;
use super::unevaluated::Unevaluated;

/// What a schema must be, in words.
const SCHEMA: &str = "a schema, which is an object or true or false";

pub(super) fn compile(root: &Value, draft: Draft) -> Result<Validator, String> {
    let mut compiler = Compiler {
        document: Document::read(root, draft)?,
        patterns: Patterns::default(),
        anchors: HashMap::new(),
        unusable: Vec::new(),
    };
    let mut nodes = Vec::with_capacity(compiler.document.sites.len());
    // Resolving a reference may add schemas during this loop.
    while nodes.len() < compiler.document.sites.len() {
        nodes.push(compiler.node(NodeId::new(nodes.len()))?);
    }
    let Compiler { document, anchors: names, unusable, .. } = compiler;
    let mut anchors = HashMap::new();
    for (number, resource) in (0_u32..).zip(&document.resources) {
        for (name, node) in &resource.dynamic {
            if let Some(anchor) = names.get(name) {
                anchors.insert((number, *anchor), *node);
            }
        }
    }
    // The path of a check matters only with dynamic references.
    nodes.iter_mut().for_each(|node: &mut Node| node.scoped = !names.is_empty());
    let root = circles::straighten(&mut nodes, &mut anchors);
    if !unusable.is_empty() {
        let used = circles::reachable(&mut nodes, root, &anchors);
        if let Some((_, problem)) = unusable.into_iter().find(|(node, _)| used[node.index()]) {
            return Err(problem);
        }
    }
    let mut places = document.places;
    places.shrink();
    Ok(Validator { nodes: nodes.into(), places, root, anchors })
}

pub(super) struct Compiler<'d> {
    document: Document<'d>,
    pub(super) patterns: Patterns,
    /// Numbers for the names that dynamic references look for.
    anchors: HashMap<String, u32>,
    /// Schemas that cannot be used. They are a mistake only if a check can reach them.
    unusable: Vec<(NodeId, String)>,
}

impl<'d> Compiler<'d> {
    fn node(&mut self, id: NodeId) -> Result<Node, String> {
        let site = self.document.site(id);
        let draft = self.document.resources[site.resource as usize].draft;
        let mut node = Node {
            types: Types::ANY,
            circular: false,
            scoped: false,
            resource: site.resource,
            keywords: Box::default(),
        };
        match site.schema {
            Value::Bool(_) if draft == Draft::Four && !self.may_be_flag(id) => {
                return Err(self.placed(id, ": draft 4 has no schemas that are true or false"));
            }
            Value::Bool(true) => {}
            Value::Bool(false) => node.keywords = Box::new([Keyword::Never]),
            Value::Object(keywords) => {
                let shape = Shape { keywords, draft };
                match self.object(&shape, id) {
                    Ok((types, keywords)) => (node.types, node.keywords) = (types, keywords),
                    Err(Problem::Malformed(problem)) => return Err(self.placed(id, &problem)),
                    Err(Problem::Unusable(problem)) => {
                        self.unusable.push((id, self.placed(id, &problem)));
                    }
                }
            }
            other => {
                let found = crate::words::received(other);
                return Err(self.placed(id, &format!(": expected {SCHEMA}, found {found}")));
            }
        }
        Ok(node)
    }

    /// Returns true where draft 4 allows true and false as schemas.
    fn may_be_flag(&self, id: NodeId) -> bool {
        let place = self.document.places.pointer(id);
        place.ends_with("/additionalProperties") || place.ends_with("/additionalItems")
    }

    /// Prepends the place of a schema to a problem.
    fn placed(&self, id: NodeId, problem: &str) -> String {
        format!("{}{problem}", self.document.places.pointer(id))
    }

    fn object(
        &mut self,
        shape: &Shape<'d>,
        id: NodeId,
    ) -> Result<(Types, Box<[Keyword]>), Problem> {
        let mut found = Vec::new();
        if shape.draft.ref_stands_alone() && shape.get("$ref").is_some() {
            self.references(shape, id, &mut found)?;
            return Ok((Types::ANY, found.into()));
        }
        shape.check_words()?;
        self.keywords(shape, id, &mut found)?;
        Ok((Types::compile(shape)?, found.into()))
    }

    /// Compiles all keywords but `type`, in the order in which failures are reported.
    fn keywords(
        &mut self,
        shape: &Shape<'d>,
        id: NodeId,
        found: &mut Vec<Keyword>,
    ) -> Result<(), Problem> {
        let groups = shape.groups();
        if let Some(value) = shape.since(Draft::Six, "const") {
            found.push(Keyword::Const(Box::new(Options::new(std::slice::from_ref(value)))));
        }
        if let Some(value) = shape.get("enum") {
            let Some(options) = value.as_array() else {
                return Ok(shape.wrong("enum", "an array of values")?);
            };
            found.push(Keyword::Enum(Box::new(Options::new(options))));
        }
        if groups.numbers {
            found.extend(
                Numbers::compile(shape)?.map(|numbers| Keyword::Numbers(Box::new(numbers))),
            );
        }
        if groups.strings {
            let strings = Strings::compile(shape, &mut self.patterns)?;
            found.extend(strings.map(|strings| Keyword::Strings(Box::new(strings))));
        }
        if groups.objects {
            let objects = Objects::compile(shape, self)?;
            found.extend(objects.map(|objects| Keyword::Objects(Box::new(objects))));
        }
        if groups.arrays {
            found.extend(
                Arrays::compile(shape, self)?.map(|arrays| Keyword::Arrays(Box::new(arrays))),
            );
        }
        if groups.others {
            self.applicators(shape, id, found)?;
            self.references(shape, id, found)?;
        }
        Ok(())
    }

    /// Compiles schemas for the same value, and the keywords for what they leave unevaluated.
    fn applicators(
        &self,
        shape: &Shape<'d>,
        id: NodeId,
        found: &mut Vec<Keyword>,
    ) -> Result<(), String> {
        for (keyword, make) in [
            ("allOf", Keyword::AllOf as fn(Box<[NodeId]>) -> Keyword),
            ("anyOf", Keyword::AnyOf),
            ("oneOf", Keyword::OneOf),
        ] {
            let branches = self.listed(shape.list(keyword)?)?;
            if !branches.is_empty() {
                found.push(make(branches));
            }
        }
        if let Some(schema) = shape.get("not") {
            found.push(Keyword::Not(self.child(schema)?));
        }
        if let Some(test) = shape.since(Draft::Seven, "if") {
            let test = self.child(test)?;
            let then = shape.get("then").map(|schema| self.child(schema)).transpose()?;
            let otherwise = shape.get("else").map(|schema| self.child(schema)).transpose()?;
            found.push(Keyword::If(Box::new(Condition { test, then, otherwise })));
        }
        if let Some(schema) = shape.since(Draft::Nineteen, "unevaluatedProperties") {
            let rest = self.rest(Some(schema))?;
            found.push(Keyword::UnevaluatedProperties(Unevaluated { own: id, rest }));
        }
        if let Some(schema) = shape.since(Draft::Nineteen, "unevaluatedItems") {
            let rest = self.rest(Some(schema))?;
            found.push(Keyword::UnevaluatedItems(Unevaluated { own: id, rest }));
        }
        Ok(())
    }

    fn references(
        &mut self,
        shape: &Shape<'d>,
        id: NodeId,
        found: &mut Vec<Keyword>,
    ) -> Result<(), Problem> {
        let draft = shape.draft;
        if let Some(reference) = shape.text("$ref")? {
            let (target, _) = self.resolve(id, "$ref", reference)?;
            found.push(Keyword::Ref(target));
        }
        let Some(keyword) = draft.dynamic_ref() else { return Ok(()) };
        let Some(reference) = shape.text(keyword)? else { return Ok(()) };
        let (target, name) = self.resolve(id, keyword, reference)?;
        // `$recursiveRef` has one anchor, without a name.
        let name = if draft == Draft::Twenty { name } else { Some("") };
        let resource = &self.document.resources[self.document.site(target).resource as usize];
        let Some(name) = name.filter(|name| resource.dynamic.get(*name) == Some(&target)) else {
            found.push(Keyword::Ref(target));
            return Ok(());
        };
        let next = u32::try_from(self.anchors.len()).unwrap_or(u32::MAX);
        let anchor = *self.anchors.entry(name.to_owned()).or_insert(next);
        found.push(Keyword::Dynamic(Dynamic { anchor, plain: target }));
        Ok(())
    }

    fn resolve<'r>(
        &mut self,
        id: NodeId,
        keyword: &str,
        reference: &'r str,
    ) -> Result<(NodeId, Option<&'r str>), Problem> {
        let resolved = self.document.resolve(id, reference);
        resolved.map_err(|e| Problem::Unusable(format!("/{keyword}: {e}")))
    }

    /// Returns the number of a schema that the walk through the document has found.
    pub(super) fn child(&self, schema: &Value) -> Result<NodeId, String> {
        self.document.node(schema).ok_or_else(|| format!("expected {SCHEMA}"))
    }

    pub(super) fn listed(&self, schemas: &[Value]) -> Result<Box<[NodeId]>, String> {
        schemas.iter().map(|schema| self.child(schema)).collect()
    }

    pub(super) fn rest(&self, schema: Option<&Value>) -> Result<Rest, String> {
        Ok(match schema {
            None => Rest::Unsaid,
            Some(Value::Bool(true)) => Rest::Allowed,
            Some(Value::Bool(false)) => Rest::Forbidden,
            Some(schema) => Rest::Schema(self.child(schema)?),
        })
    }
}

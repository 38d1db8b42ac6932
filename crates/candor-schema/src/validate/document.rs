//! Finds the schemas of a document and their names, and resolves references.
//!
//! Only what a draft defines as a schema is one: an `$id` inside a `const` names nothing. But a JSON Pointer may lead anywhere;
//! its target then becomes a schema.

use std::collections::HashMap;

use serde_json::Value;

use super::draft::{Draft, SubschemaForm, holds};
use super::node::NodeId;
use super::places::Places;
use super::uri;
use crate::walk::unescape;

/// The URI of a document without one, so that names in it can be resolved.
const NAMELESS: &str = "schema:///";

/// A schema in the document.
#[derive(Clone, Copy)]
pub(super) struct Site<'d> {
    pub(super) schema: &'d Value,
    pub(super) resource: u32,
}

/// A schema with a name of its own, and everything inside it that has none.
pub(super) struct Resource {
    base: String,
    root: NodeId,
    pub(super) draft: Draft,
    anchors: HashMap<String, NodeId>,
    /// The anchors that a dynamic reference may find. The empty name is that of `$recursiveAnchor`.
    pub(super) dynamic: HashMap<String, NodeId>,
}

/// All schemas of a document.
pub(super) struct Document<'d> {
    pub(super) sites: Vec<Site<'d>>,
    pub(super) resources: Vec<Resource>,
    pub(super) places: Places,
    /// Schemas by address: the document does not move while it is compiled.
    found: HashMap<*const Value, NodeId>,
    named: HashMap<String, u32>,
}

impl<'d> Document<'d> {
    pub(super) fn read(root: &'d Value, draft: Draft) -> Result<Self, String> {
        let mut document = Self {
            sites: Vec::new(),
            resources: Vec::new(),
            places: Places::default(),
            found: HashMap::new(),
            named: HashMap::new(),
        };
        document.open(NAMELESS.to_owned(), NodeId::ROOT, draft);
        document.enter(root, NodeId::ROOT, "", 0)?;
        Ok(document)
    }

    pub(super) fn node(&self, schema: &Value) -> Option<NodeId> {
        self.found.get(&std::ptr::from_ref(schema)).copied()
    }

    pub(super) fn site(&self, node: NodeId) -> Site<'d> {
        self.sites[node.index()]
    }

    fn open(&mut self, base: String, root: NodeId, draft: Draft) -> u32 {
        let number = u32::try_from(self.resources.len()).unwrap_or(u32::MAX);
        self.named.entry(base.clone()).or_insert(number);
        let (anchors, dynamic) = (HashMap::new(), HashMap::new());
        self.resources.push(Resource { base, root, draft, anchors, dynamic });
        number
    }

    /// Registers a schema and all schemas in it; `step` leads to it from `parent`.
    fn enter(
        &mut self,
        schema: &'d Value,
        parent: NodeId,
        step: &str,
        resource: u32,
    ) -> Result<NodeId, String> {
        if let Some(node) = self.node(schema) {
            return Ok(node);
        }
        let node = NodeId::new(self.sites.len());
        let resource = self
            .identify(schema, node, resource)
            .map_err(|e| format!("{}{step}/{e}", self.places.pointer(parent)))?;
        self.sites.push(Site { schema, resource });
        self.places.push(parent, step);
        self.found.insert(std::ptr::from_ref(schema), node);
        let Value::Object(keywords) = schema else { return Ok(node) };
        let draft = self.resources[resource as usize].draft;
        for (keyword, value) in keywords {
            let Some(holds) = holds(draft, keyword) else { continue };
            match (value, holds) {
                (Value::Array(items), SubschemaForm::Many | SubschemaForm::OneOrMany) => {
                    for (i, item) in items.iter().enumerate() {
                        self.enter(item, node, &format!("/{keyword}/{i}"), resource)?;
                    }
                }
                (Value::Object(members), SubschemaForm::Named | SubschemaForm::NamedOrNames) => {
                    for (name, member) in members {
                        if holds == SubschemaForm::Named || !member.is_array() {
                            let step = crate::violation::below(&format!("/{keyword}"), name);
                            self.enter(member, node, &step, resource)?;
                        }
                    }
                }
                (_, SubschemaForm::One | SubschemaForm::OneOrMany) => {
                    self.enter(value, node, &format!("/{keyword}"), resource)?;
                }
                // Compiling the keyword refuses anything else.
                _ => {}
            }
        }
        Ok(node)
    }

    /// Returns the resource that a schema belongs to: its own if it has a name.
    fn identify(&mut self, schema: &Value, node: NodeId, outer: u32) -> Result<u32, String> {
        let Value::Object(keywords) = schema else { return Ok(outer) };
        let text = |keyword: &str| keywords.get(keyword).and_then(Value::as_str);
        let mut draft = self.resources[outer as usize].draft;
        let is_root = node == NodeId::ROOT;
        if let (Some(named), false) = (text("$schema"), is_root) {
            draft = Draft::named(named).unwrap_or(draft);
        }
        let mut resource = outer;
        let hidden = draft.ref_stands_alone() && keywords.contains_key("$ref");
        if let (Some(id), false) = (text(draft.id()), hidden) {
            let (base, fragment) = uri::resolve(&self.resources[outer as usize].base, id);
            if let (Some(name @ [_, ..]), true) =
                (fragment.map(str::as_bytes), draft.ref_stands_alone())
            {
                let name = String::from_utf8_lossy(name).into_owned();
                self.resources[outer as usize].anchors.entry(name).or_insert(node);
            } else if fragment.is_some_and(|fragment| !fragment.is_empty()) {
                return Err(format!("$id: expected a URI without a fragment, found {id:?}"));
            }
            if !id.starts_with('#') {
                if is_root {
                    self.resources[0].base.clone_from(&base);
                    self.named.insert(base, 0);
                } else {
                    resource = self.open(base, node, draft);
                }
            }
        }
        let here = &mut self.resources[resource as usize];
        if draft >= Draft::Nineteen
            && let Some(name) = text("$anchor")
        {
            here.anchors.entry(name.to_owned()).or_insert(node);
        }
        if draft == Draft::Twenty
            && let Some(name) = text("$dynamicAnchor")
        {
            here.anchors.entry(name.to_owned()).or_insert(node);
            here.dynamic.entry(name.to_owned()).or_insert(node);
        }
        if draft == Draft::Nineteen
            && keywords.get("$recursiveAnchor") == Some(&Value::Bool(true))
            && here.root == node
        {
            here.dynamic.insert(String::new(), node);
        }
        Ok(resource)
    }

    /// Resolves a reference in `from`. Also returns the fragment if it is a name.
    pub(super) fn resolve<'r>(
        &mut self,
        from: NodeId,
        reference: &'r str,
    ) -> Result<(NodeId, Option<&'r str>), String> {
        let base = &self.resources[self.site(from).resource as usize].base;
        let (uri, fragment) = uri::resolve(base, reference);
        let Some(&resource) = self.named.get(&uri) else {
            let builtin = Draft::named(&uri).is_some() || uri.contains("//json-schema.org/draft");
            return Err(if builtin {
                format!(
                    "{reference:?} is a schema of schemas, which is not built in; embed it in `$defs`"
                )
            } else {
                format!(
                    "{reference:?} is not in this schema, and nothing is ever fetched; embed it in `$defs`"
                )
            });
        };
        let missing = || format!("{reference:?} leads to nothing in this schema");
        let root = self.resources[resource as usize].root;
        match fragment {
            None | Some("") => Ok((root, None)),
            Some(pointer) if pointer.starts_with('/') => {
                let node = self.follow(root, &unescape(pointer))?.ok_or_else(missing)?;
                Ok((node, None))
            }
            Some(name) => {
                let anchors = &self.resources[resource as usize].anchors;
                let node = anchors.get(&unescape(name)).copied().ok_or_else(missing)?;
                Ok((node, Some(name)))
            }
        }
    }

    /// Returns the schema that a JSON Pointer leads to.
    fn follow(&mut self, root: NodeId, pointer: &str) -> Result<Option<NodeId>, String> {
        let mut value = self.site(root).schema;
        // The last schema on the way, and the rest of the pointer after it.
        let (mut near, mut rest) = (root, String::new());
        for token in pointer.split('/').skip(1) {
            let name = token.replace("~1", "/").replace("~0", "~");
            let next = match value {
                Value::Object(members) => members.get(&name),
                Value::Array(items) => name.parse().ok().and_then(|i: usize| items.get(i)),
                _ => None,
            };
            let Some(next) = next else { return Ok(None) };
            value = next;
            rest.push('/');
            rest.push_str(token);
            if let Some(node) = self.node(value) {
                near = node;
                rest.clear();
            }
        }
        if rest.is_empty() {
            return Ok(Some(near));
        }
        let resource = self.site(near).resource;
        self.enter(value, near, &rest, resource).map(Some)
    }
}

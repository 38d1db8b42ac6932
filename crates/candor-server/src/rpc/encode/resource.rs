//! Resources as a client gets them. Members that the published protocol does not have are also in `_meta`.
//!
//! Clients built on official SDKs see the members that their SDK knows, and all of `_meta`. A client that declares the extension
//! reads the members themselves, and gets no copy.

use candor_engine::ClientInfo;
use candor_protocol::Members as _;
use candor_protocol::json::{Object, raw};
use candor_protocol::names::extension;
use candor_protocol::types::{Content, Resource, ResourceContents};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// Writes resources for one client.
#[derive(Debug, Clone, Copy)]
pub struct Publisher {
    mirrors: bool,
}

impl Publisher {
    /// Returns what writes resources for this client.
    #[must_use]
    pub fn to(client: &ClientInfo) -> Self {
        let extensions = client.capabilities.extensions.as_ref();
        Self { mirrors: extensions.is_none_or(|known| !known.contains_key(extension::RESOURCE)) }
    }

    /// Returns a resource as the client gets it.
    #[must_use]
    pub fn resource(self, mut resource: Resource) -> Resource {
        if self.mirrors {
            let ours = mirror(resource.meta.as_ref());
            let ours = with(ours, "capabilities", resource.capabilities.as_ref());
            keep(&mut resource.meta, &ours);
        }
        resource
    }

    /// Returns a list of resources, ready to be encoded.
    #[must_use]
    pub fn list(self, resources: &[Resource]) -> Vec<ListedResource<'_>> {
        resources.iter().map(|resource| ListedResource { resource, publisher: self }).collect()
    }

    /// Completes contents for the client.
    pub fn contents(self, content: &mut ResourceContents) {
        if !self.mirrors {
            return;
        }
        let mut ours = mirror(content.meta.as_ref());
        ours = with(ours, "name", content.name.as_ref());
        ours = with(ours, "title", content.title.as_ref());
        ours = with(ours, "description", content.description.as_ref());
        ours = with(ours, "size", content.size.as_ref());
        ours = with(ours, "icons", content.icons.as_ref());
        ours = with(ours, "annotations", content.annotations.as_ref());
        ours = with(ours, "capabilities", content.capabilities.as_ref());
        keep(&mut content.meta, &ours);
    }

    /// Prepares content blocks: an embedded resource has its annotations inside, and also beside it for clients that look only
    /// there.
    pub(crate) fn blocks<'a>(self, blocks: impl IntoIterator<Item = &'a mut Content>) {
        for block in blocks {
            if let Content::Resource(embedded) = block {
                embedded.settle_advice(self.mirrors);
            }
        }
    }
}

/// A resource in a list. Lists are long, and most resources have no metadata of their own. Then the mirror is written without a
/// clone of the resource.
#[derive(Debug)]
pub struct ListedResource<'a> {
    resource: &'a Resource,
    publisher: Publisher,
}

impl Serialize for ListedResource<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { resource, publisher } = self;
        match &resource.capabilities {
            Some(capabilities) if publisher.mirrors && resource.meta.is_none() => {
                let mut map = serializer.serialize_map(None)?;
                resource.write_members(&mut map)?;
                let mirror = One("capabilities", capabilities);
                map.serialize_entry("_meta", &One(extension::RESOURCE, &mirror))?;
                map.end()
            }
            _ => publisher.resource((*resource).clone()).serialize(serializer),
        }
    }
}

/// An object with one member.
struct One<'a, T>(&'static str, &'a T);

impl<T: Serialize> Serialize for One<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.0, self.1)?;
        map.end()
    }
}

fn mirror(meta: Option<&Object>) -> Object {
    meta.and_then(|meta| meta.read(extension::RESOURCE).ok().flatten()).unwrap_or_default()
}

fn with(ours: Object, key: &str, value: Option<&(impl Serialize + ?Sized)>) -> Object {
    match value {
        Some(value) => ours.with(key, value),
        None => ours,
    }
}

fn keep(meta: &mut Option<Object>, ours: &Object) {
    if !ours.is_empty() {
        meta.get_or_insert_with(Object::new).set(extension::RESOURCE, raw(ours));
    }
}

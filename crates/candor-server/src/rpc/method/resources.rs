//! `resources/…`: lists, children, metadata, content, templates, subscriptions of the legacy era; and the skills extension.
//!
//! `resources/list` returns the default list, or the children of one resource. `resources/directory/read`, from the published
//! extension, returns children only. A server that declares the extension for it must also answer `skills/list` and `skills/get`.
//! This server has no skills: the list is empty, and no skill is found.

use std::sync::Arc;

use candor_engine::resource::{Children, ListStart, Offers, ResourceFailure};
use candor_engine::{Reply, View};
use candor_protocol::Era;
use candor_protocol::json::Object;
use candor_protocol::names::method::{
    DIRECTORY_READ, RESOURCES_LIST, RESOURCES_METADATA, RESOURCES_READ, RESOURCES_SUBSCRIBE,
    RESOURCES_TEMPLATES_LIST, RESOURCES_UNSUBSCRIBE, SKILLS_GET, SKILLS_LIST,
};
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::{
    ListResourcesParams, Resource, ResourceMetadataResult, ResourceUriParams,
};
use serde_json::json;

use super::{DispatchResult, params, resume};
use crate::rpc::context::RequestContext;
use crate::rpc::encode::answer::{Answer, Empty, ListPage};
use crate::rpc::encode::call::ask;
use crate::rpc::encode::error::{at_capacity, of_failure, of_resource};
use crate::rpc::encode::list::{complete, complete_cacheable, page as list_page, write};
use crate::rpc::encode::resource::Publisher;
use crate::rpc::page;
use crate::running_server::{CacheHint, RunningServer};
use crate::session::Session;

/// The lists that a cursor can belong to.
const DEFAULT: &str = "resources";
const CHILDREN: &str = "children";

/// The MIME type that marks folders in the extension.
const FOLDER: &str = "inode/directory";

/// Maximum number of watched resources. The protocol sets no limit, but each watch uses memory.
pub(crate) const MOST_WATCHED: usize = 10_000;

/// Returns what the resources offer. Without resources, the method does not exist.
fn offers(request: &RequestContext, method: &str) -> Result<Offers, ErrorObject> {
    request.server.resource_offers().ok_or_else(|| ErrorObject::method_not_found(method))
}

pub(crate) async fn list(asked: Object, request: &RequestContext) -> DispatchResult {
    offers(request, RESOURCES_LIST)?;
    // An explicit null counts as absent: SDKs write it for an optional member that is not set.
    let ListResourcesParams { uri, cursor, .. } = params(asked)?;
    let (listed, next) = match uri {
        Some(uri) => children(&uri, cursor.as_deref(), request).await?,
        None => default_list(cursor.as_deref(), request).await?,
    };
    Ok(send(request, &listed, next))
}

pub(crate) async fn directory(asked: Object, request: &RequestContext) -> DispatchResult {
    if !offers(request, DIRECTORY_READ)?.children {
        return Err(ErrorObject::method_not_found(DIRECTORY_READ));
    }
    let ListResourcesParams { uri, cursor, .. } = params(asked)?;
    let uri = uri.ok_or_else(|| ErrorObject::invalid_params("Invalid params: /uri is missing"))?;
    let (mut listed, next) = children(&uri, cursor.as_deref(), request).await?;
    for child in listed.iter_mut().filter(|child| child.is_listable()) {
        child.mime_type.get_or_insert_with(|| FOLDER.to_owned());
    }
    Ok(send(request, &listed, next))
}

async fn default_list(
    cursor: Option<&str>,
    request: &RequestContext,
) -> Result<Children, ErrorObject> {
    let listed = resource_page(&request.server, &request.view, None, cursor).await;
    listed.map_err(|e| e.into_error("", request.era(), true))
}

/// Why a page of resources cannot be listed.
#[derive(Debug)]
pub enum PageError {
    /// The cursor was not made for this list.
    Cursor,
    /// The resources cannot be listed.
    Failed(ResourceFailure),
}

impl PageError {
    fn into_error(self, uri: &str, era: Era, core: bool) -> ErrorObject {
        match self {
            Self::Cursor => page::invalid_cursor(),
            Self::Failed(failure) => of_resource(failure, uri, era, core),
        }
    }
}

/// Returns a page of the default list of resources, or of the children of `uri`, and the cursor of the next page.
///
/// # Errors
/// The cursor is invalid, or a provider failed.
pub async fn resource_page(
    server: &RunningServer,
    view: &View,
    uri: Option<&str>,
    cursor: Option<&str>,
) -> Result<Children, PageError> {
    let seal = server.cursors();
    let Some(uri) = uri else {
        let start = match cursor {
            None => ListStart::default(),
            Some(cursor) => {
                let (mount, after) =
                    page::position(seal, &[DEFAULT], cursor).ok_or(PageError::Cursor)?;
                ListStart { mount, after }
            }
        };
        let (listed, next) = view.resources(start).await.map_err(PageError::Failed)?;
        let next = next.map(|n| page::seal_position(seal, &[DEFAULT], &(n.mount, n.after)));
        return Ok((listed, next));
    };
    let list = [CHILDREN, uri];
    let after: Option<String> = cursor
        .map(|cursor| page::position(seal, &list, cursor).ok_or(PageError::Cursor))
        .transpose()?;
    let listed = view.children(uri, after.as_deref()).await;
    let (listed, next) = listed.map_err(PageError::Failed)?;
    Ok((listed, next.map(|next| page::seal_position(seal, &list, &next))))
}

async fn children(
    uri: &str,
    cursor: Option<&str>,
    request: &RequestContext,
) -> Result<Children, ErrorObject> {
    let listed = resource_page(&request.server, &request.view, Some(uri), cursor).await;
    listed.map_err(|e| e.into_error(uri, request.era(), false))
}

fn send(request: &RequestContext, listed: &[Resource], next_cursor: Option<String>) -> Answer {
    let items = write(&Publisher::to(request.client()).list(listed));
    let page = ListPage { key: "resources", items, next_cursor, meta: None };
    complete_cacheable(request, page, request.server.cache_hint())
}

/// `resources/metadata`: what a resource is, without reading it.
pub(crate) async fn metadata(asked: Object, request: &RequestContext) -> DispatchResult {
    offers(request, RESOURCES_METADATA)?;
    let asked: ResourceUriParams = params(asked)?;
    let found = request.view.metadata(&asked.uri).await;
    let found = found.map_err(|e| of_resource(e, &asked.uri, request.era(), false))?;
    let resource = Publisher::to(request.client()).resource(found);
    let result = ResourceMetadataResult::new(resource);
    Ok(complete_cacheable(request, result, request.server.cache_hint()))
}

pub(crate) async fn read(asked: Object, request: &RequestContext) -> DispatchResult {
    offers(request, RESOURCES_READ)?;
    let asked: ResourceUriParams = params(asked)?;
    let resume = resume(asked.input_responses.as_deref(), asked.request_state, &asked.extra)?;
    let reply = request.view.read(&asked.uri, &resume, request.peer.clone()).await;
    match reply.map_err(|failure| of_failure(failure, &asked.uri, request.era()))? {
        Reply::Done(mut result) => {
            let publisher = Publisher::to(request.client());
            result.contents.iter_mut().for_each(|content| publisher.contents(content));
            // A result that depends on the client's answers must not be cached: they are not part of a cache's key.
            let hint = match resume.is_empty() {
                true => request.server.cache_hint(),
                false => CacheHint::default(),
            };
            Ok(complete_cacheable(request, result, hint))
        }
        Reply::Questions(questions) => Ok(ask(request, questions)),
    }
}

pub(crate) async fn templates(asked: Object, request: &RequestContext) -> DispatchResult {
    offers(request, RESOURCES_TEMPLATES_LIST)?;
    let listed = request.view.templates().await;
    let listed = listed.map_err(|failure| of_resource(failure, "", request.era(), true))?;
    let method = RESOURCES_TEMPLATES_LIST;
    list_page(request, method, "resourceTemplates", &params(asked)?, &listed)
}

pub(crate) async fn subscribe(asked: Object, request: &RequestContext) -> DispatchResult {
    let session = watching(request, RESOURCES_SUBSCRIBE)?;
    let asked: ResourceUriParams = params(asked)?;
    // A session that subscribes again already has a slot.
    let slot = session.place_of(&asked.uri);
    if slot.is_none() && session.watched() >= MOST_WATCHED {
        return Err(ErrorObject::invalid_params(format!(
            "At most {MOST_WATCHED} resources are watched at a time; unsubscribe from some first"
        )));
    }
    let slot = match slot {
        Some(slot) => slot,
        None => Arc::new(request.view.watch_slot().map_err(at_capacity)?),
    };
    let guard = request.view.watch(&asked.uri).await;
    let guard = guard.map_err(|e| of_resource(e, &asked.uri, request.era(), true))?;
    session.subscribe(asked.uri, (guard, slot));
    Ok(complete(request, Empty::default()))
}

pub(crate) fn unsubscribe(asked: Object, request: &RequestContext) -> DispatchResult {
    let session = watching(request, RESOURCES_UNSUBSCRIBE)?;
    let asked: ResourceUriParams = params(asked)?;
    session.unsubscribe(&asked.uri);
    Ok(complete(request, Empty::default()))
}

/// Returns the session. Without a session or resources to watch, the method does not exist.
fn watching<'a>(
    request: &'a RequestContext,
    method: &str,
) -> Result<&'a Arc<Session>, ErrorObject> {
    let watches = request.server.resource_offers().is_some_and(|offers| offers.watching);
    let session = request.session.as_ref().filter(|_| watches);
    session.ok_or_else(|| ErrorObject::method_not_found(method))
}

pub(crate) fn skills(request: &RequestContext) -> DispatchResult {
    declared(request, SKILLS_LIST)?;
    let items = write::<Object>(&[]);
    let page = ListPage { key: "skills", items, next_cursor: None, meta: None };
    Ok(complete_cacheable(request, page, request.server.cache_hint()))
}

pub(crate) fn skill(asked: Object, request: &RequestContext) -> DispatchResult {
    declared(request, SKILLS_GET)?;
    let asked: ResourceUriParams = params(asked)?;
    Err(ErrorObject::invalid_params("There is no such skill").with_data(&json!({"uri": asked.uri})))
}

fn declared(request: &RequestContext, method: &str) -> Result<(), ErrorObject> {
    match request.server.resource_offers() {
        Some(Offers { children: true, .. }) => Ok(()),
        _ => Err(ErrorObject::method_not_found(method)),
    }
}

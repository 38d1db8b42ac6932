//! `resources/list`: the default list, or the children of one resource. `resources/directory/read`, from the published extension,
//! lists children only.

use candor_protocol::json::Object;
use candor_protocol::names::method::{DIRECTORY_READ, RESOURCES_LIST};
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::{ListResourcesParams, Resource};

use super::params;
use crate::answer::ListPage;
use crate::dispatch::DispatchResult;
use crate::engine::Engine;
use crate::exchange::RequestContext;
use crate::page::{self, PAGE_SIZE};
use crate::resource::{Children, ListStart, Page, Publisher, Tree};

/// The lists that a cursor can belong to.
const DEFAULT: &str = "resources";
const CHILDREN: &str = "children";

/// The MIME type that marks folders in the extension.
const FOLDER: &str = "inode/directory";

pub(crate) async fn answer(
    engine: &Engine,
    asked: Object,
    exchange: &RequestContext,
) -> DispatchResult {
    let tree = super::resources(engine, RESOURCES_LIST)?;
    // An explicit null counts as absent: SDKs write it for an optional member that is not set.
    let ListResourcesParams { uri, cursor, .. } = params(asked)?;
    let (listed, next) = match uri {
        Some(uri) => children(engine, tree, &uri, cursor.as_deref(), exchange).await?,
        None => default_list(engine, tree, cursor.as_deref(), exchange).await?,
    };
    Ok(send(engine, exchange, &listed, next))
}

pub(crate) async fn directory(
    engine: &Engine,
    asked: Object,
    exchange: &RequestContext,
) -> DispatchResult {
    let tree = super::resources(engine, DIRECTORY_READ)?;
    if !tree.offers().children {
        return Err(ErrorObject::method_not_found(DIRECTORY_READ));
    }
    let ListResourcesParams { uri, cursor, .. } = params(asked)?;
    let uri = uri.ok_or_else(|| ErrorObject::invalid_params("Invalid params: /uri is missing"))?;
    let (mut listed, next) = children(engine, tree, &uri, cursor.as_deref(), exchange).await?;
    for child in listed.iter_mut().filter(|child| child.is_listable()) {
        child.mime_type.get_or_insert_with(|| FOLDER.to_owned());
    }
    Ok(send(engine, exchange, &listed, next))
}

async fn default_list(
    engine: &Engine,
    tree: &Tree,
    cursor: Option<&str>,
    exchange: &RequestContext,
) -> Result<Children, ErrorObject> {
    let seal = engine.cursors();
    let start = match cursor {
        None => ListStart::default(),
        Some(cursor) => {
            let (mount, after) = page::position(seal, &[DEFAULT], cursor)?;
            ListStart { mount, after }
        }
    };
    let (listed, next) = tree
        .list(start, PAGE_SIZE, &exchange.principal)
        .await
        .map_err(|trouble| trouble.into_error("", exchange.era(), true))?;
    let next = next.map(|n| page::seal_position(seal, &[DEFAULT], &(n.mount, n.after)));
    Ok((listed, next))
}

async fn children(
    engine: &Engine,
    tree: &Tree,
    uri: &str,
    cursor: Option<&str>,
    exchange: &RequestContext,
) -> Result<Children, ErrorObject> {
    let seal = engine.cursors();
    let list = [CHILDREN, uri];
    let after: Option<String> =
        cursor.map(|cursor| page::position(seal, &list, cursor)).transpose()?;
    let page = Page { after: after.as_deref(), limit: PAGE_SIZE };
    let (listed, next) = tree
        .children(uri, page, &exchange.principal)
        .await
        .map_err(|trouble| trouble.into_error(uri, exchange.era(), false))?;
    Ok((listed, next.map(|next| page::seal_position(seal, &list, &next))))
}

fn send(
    engine: &Engine,
    exchange: &RequestContext,
    listed: &[Resource],
    next_cursor: Option<String>,
) -> crate::answer::Answer {
    let items = super::write(&Publisher::to(&exchange.client).list(listed));
    let page = ListPage { key: "resources", items, next_cursor, meta: None };
    engine.complete_cacheable(exchange, page, engine.parts().cache)
}

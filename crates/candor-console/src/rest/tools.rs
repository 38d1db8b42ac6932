//! `GET /tools`, `GET /tools/{name}`, and the dispatch of requests that act on a tool.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use bytes::Bytes;
use candor_server::Refusal;
use candor_server::View;
use candor_server::protocol::json::{Decode as _, Object, RawValue, raw};
use candor_server::protocol::names::extension;
use candor_server::protocol::types::Tool as Definition;
use candor_server::tool::{ListingOptions, ToolSet};
use http::HeaderValue;
use http::header::LINK;
use serde_json::json;

use super::body::view;
use super::{SharedBody, call, engine, foreseen, refused, tag, tagged};
use crate::Inner;
use crate::problem::Problem;
use crate::request::ConsoleRequest;

/// Maximum number of tool sets with a cached list: one for each kind of principal. Beyond it, the oldest list is dropped.
const MOST: usize = 16;

/// Default and maximum number of tools on a page.
pub(crate) const PAGE: usize = 1000;

/// Cached lists, each with its tool set. A tool source that returns a new set for every request does not use the cache, and leaves
/// nothing in it.
///
/// Responses with a cached list count as shared. So a list stays here until clients have read it, even if its set is gone: all
/// shared lists together are never more than [`MOST`].
#[derive(Debug, Default)]
pub(crate) struct Lists(Mutex<Vec<(Weak<ToolSet>, Arc<List>)>>);

/// A list as JSON text.
#[derive(Debug)]
struct List {
    text: Bytes,
    tag: HeaderValue,
    /// The range of each tool in the text.
    items: Vec<Range<usize>>,
}

impl Lists {
    /// Returns the list of a tool set, and true if it is cached.
    async fn of(&self, view: &View, options: ListingOptions) -> Result<(Arc<List>, bool), Refusal> {
        let set = view.tools().await?;
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |(of, _): &&(Weak<ToolSet>, _)| of.as_ptr() == Arc::as_ptr(set);
        if let Some((_, list)) = kept().iter().find(is_it) {
            return Ok((Arc::clone(list), true));
        }
        let list = Arc::new(List::new(&view.published_tools(options).await?));
        // No request after this one will have the set, because the source does not keep it.
        if Arc::strong_count(set) == 1 {
            return Ok((list, false));
        }
        let mut kept = kept();
        // Another request may have cached it meanwhile.
        if let Some((_, list)) = kept.iter().find(is_it) {
            return Ok((Arc::clone(list), true));
        }
        kept.retain(|(of, list)| of.strong_count() > 0 || list.is_in_use());
        if kept.len() >= MOST {
            let Some(unused) = kept.iter().position(|(_, list)| !list.is_in_use()) else {
                return Ok((list, false));
            };
            kept.remove(unused);
        }
        kept.push((Arc::downgrade(set), Arc::clone(&list)));
        Ok((list, true))
    }
}

impl List {
    fn new(tools: &[Cow<'_, Definition>]) -> Self {
        let mut text = String::from("[");
        let mut items = Vec::with_capacity(tools.len());
        for tool in tools {
            if text.len() > 1 {
                text.push(',');
            }
            let from = text.len();
            text.push_str(&super::write(&summary(tool)));
            items.push(from..text.len());
        }
        text.push(']');
        let text = Bytes::from(text);
        Self { tag: tag(&text), text, items }
    }

    /// Returns true if a response has it, besides the cache.
    fn is_in_use(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) > 1 || !self.text.is_unique()
    }

    fn part(&self, items: Range<usize>) -> Bytes {
        let bytes = match (self.items.get(items.start), self.items[items].last()) {
            (Some(first), Some(last)) => &self.text[first.start..last.end],
            _ => b"",
        };
        [b"[", bytes, b"]"].concat().into()
    }
}

/// Returns a tool as the list has it.
fn summary(tool: &Definition) -> Object {
    let mut members = Object::new()
        .with("name", &tool.name)
        .with("description", tool.description.as_deref().unwrap_or(""));
    if let Some(title) = &tool.title {
        members = members.with("title", title);
    }
    if let Some(annotations) = annotations(tool) {
        members = members.with("annotations", &annotations);
    }
    // Names the schemas of the tool's types that cannot be used. Only operators see the reason.
    if let Some(unavailable) = unavailable(tool) {
        members = members.with("schemaUnavailable", &unavailable);
    }
    members
}

fn unavailable(tool: &Definition) -> Option<Box<RawValue>> {
    let mark: Object = tool.meta.as_ref()?.read(extension::SCHEMA).ok()??;
    mark.read("unavailable").ok()?
}

/// Returns the hints that the tool declares, including unknown fields, without members that are `null`: document 1 omits them
/// (`exclude_none`).
fn annotations(tool: &Definition) -> Option<Object> {
    let declared = raw(tool.annotations.as_ref()?);
    let mut members = Object::decode((&*declared).into()).ok()?;
    members.retain(|_, value| Ok(value.text() != "null")).ok()?;
    (!members.is_empty()).then_some(members)
}

/// Returns all details of a tool. Schemas keep the text in which the author wrote them.
fn detail(tool: &Definition) -> Object {
    let mut members = summary(tool).with("inputSchema", &tool.input_schema);
    if let Some(schema) = &tool.output_schema {
        members = members.with("outputSchema", schema);
    }
    // The effect depends on the arguments: `annotations` evaluates it for a call.
    if tool.dynamic_annotations == Some(true) {
        members = members.with("dynamicAnnotations", &true);
    }
    members
}

pub(crate) async fn list(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
) -> Result<Response, Problem> {
    let view = view(console, asked)?;
    let options = engine(console)?.listing();
    let (list, is_cached) = console.lists.of(&view, options).await.map_err(refused::problem)?;
    let headers = &asked.parts.headers;
    let Some((start, limit)) = page(asked)? else {
        let mut response = tagged(headers, &list.tag, list.text.clone());
        if is_cached {
            response.extensions_mut().insert(SharedBody);
        }
        return Ok(response);
    };
    let start = start.min(list.items.len());
    let end = start.saturating_add(limit).min(list.items.len());
    let text = list.part(start..end);
    let mut response = tagged(headers, &tag(&text), text);
    if end < list.items.len() {
        let next =
            format!("<{}/tools?limit={limit}&cursor={}>; rel=\"next\"", asked.base, cursor(end));
        if let Ok(next) = HeaderValue::from_str(&next) {
            response.headers_mut().insert(LINK, next);
        }
    }
    Ok(response)
}

const CURSOR: &str = "tools:";

fn cursor(start: usize) -> String {
    BASE64.encode(format!("{CURSOR}{start}"))
}

/// Returns the start and the length of the requested page, or `None` for the whole list.
fn page(asked: &ConsoleRequest) -> Result<Option<(usize, usize)>, Problem> {
    let (limit, cursor) = (asked.query("limit"), asked.query("cursor"));
    if limit.is_none() && cursor.is_none() {
        return Ok(None);
    }
    let limit = match limit.map(|limit| limit.parse()) {
        None => PAGE,
        Some(Ok(limit @ 1..=PAGE)) => limit,
        Some(_) => {
            return Err(Problem::bad_request(format!("limit is a number from 1 to {PAGE}")));
        }
    };
    let start = match cursor {
        None => 0,
        Some(cursor) => BASE64
            .decode(cursor)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .and_then(|text| text.strip_prefix(CURSOR)?.parse().ok())
            .ok_or_else(|| {
                Problem::bad_request("This cursor was not made here; list again from the beginning")
            })?,
    };
    Ok(Some((start, limit)))
}

pub(crate) async fn one(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
    name: &str,
) -> Result<Response, Problem> {
    let view = view(console, asked)?;
    let found = view.tool(name).await.map_err(refused::problem)?;
    let mut members = detail(&found.definition);
    if asked.visitor.operator && !found.schema_problems.is_empty() {
        let problems = found.schema_problems.iter();
        let problems: Vec<_> = problems
            .map(|found| json!({"schema": found.role.as_str(), "problem": found.problem}))
            .collect();
        members = members.with("schemaProblems", &problems);
    }
    let text = Bytes::from(super::write(&members));
    Ok(tagged(&asked.parts.headers, &tag(&text), text))
}

/// What a request does with a tool, as the last segment of its path says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Validate,
    Annotations,
    Preview,
    Call,
}

pub(crate) async fn act(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
    name: &str,
    verb: Verb,
) -> Result<Response, Problem> {
    let view = view(console, asked)?;
    match verb {
        Verb::Validate => foreseen::validate(console, asked, &view, name).await,
        Verb::Annotations => foreseen::annotations(console, asked, &view, name).await,
        Verb::Preview => call::preview(console, asked, view, name).await,
        Verb::Call => call::call(console, asked, view, name).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_server::protocol::Principal;
    use candor_server::tool::{JsonTool, Tool, ToolError, provider_fn};
    use candor_server::{Caller, RunningServer, Server};

    fn tools() -> Vec<Arc<dyn Tool>> {
        vec![Arc::new(JsonTool::open("t", |_, _| async { Ok::<_, ToolError>("") }))]
    }

    async fn twice(lists: &Lists, engine: &RunningServer) -> [Arc<List>; 2] {
        let one = engine.open(Caller::new(Principal::anonymous()));
        let (one, _) = lists.of(&one, engine.listing()).await.unwrap();
        let other = engine.open(Caller::new(Principal::new("alice")));
        [one, lists.of(&other, engine.listing()).await.unwrap().0]
    }

    #[tokio::test]
    async fn list_of_a_fixed_tool_set_is_encoded_once() {
        let lists = Lists::default();
        let set = Arc::new(ToolSet::new(tools()).unwrap());
        for kept in [
            Server::new("s", "1").tools_from(tools()),
            Server::new("s", "1").tools_from(provider_fn(move |_| Ok(set.clone()))),
        ] {
            let [one, other] = twice(&lists, &kept.build().unwrap()).await;
            assert!(Arc::ptr_eq(&one, &other));
        }
        let called = Server::new("s", "1").tools_from(tools).build().unwrap();
        let [one, other] = twice(&lists, &called).await;
        assert!(!Arc::ptr_eq(&one, &other));
        for _ in 0..100 {
            twice(&lists, &called).await;
        }
        let kept = lists.0.lock().unwrap();
        assert!(kept.len() <= 2, "sets that are gone leave nothing: {}", kept.len());
    }

    #[tokio::test]
    async fn list_that_a_response_has_stays_cached_until_it_is_read() {
        let lists = Lists::default();
        let text_of = async |set: &Arc<ToolSet>| {
            let set = Arc::clone(set);
            let server = Server::new("s", "1").tools_from(provider_fn(move |_| Ok(set.clone())));
            let server = server.build().unwrap();
            let view = server.open(Caller::new(Principal::anonymous()));
            let (list, is_cached) = lists.of(&view, server.listing()).await.unwrap();
            (list.text.clone(), is_cached)
        };
        let sets: Vec<_> = (0..=MOST).map(|_| Arc::new(ToolSet::new(tools()).unwrap())).collect();
        let mut unread = Vec::new();
        for set in &sets[..MOST] {
            unread.push(text_of(set).await);
        }
        assert!(unread.iter().all(|(_, is_cached)| *is_cached));
        assert!(!text_of(&sets[MOST]).await.1, "all cached lists are in use");
        assert!(text_of(&sets[0]).await.1, "the first one still is cached");
        unread.remove(1);
        assert!(text_of(&sets[MOST]).await.1, "a list that clients have read makes room");
        assert!(text_of(&sets[0]).await.1);

        // A set that is gone takes its list with it only when no response reads it.
        unread.remove(0);
        drop(sets);
        text_of(&Arc::new(ToolSet::new(tools()).unwrap())).await;
        let kept = lists.0.lock().unwrap().len();
        assert_eq!(kept, unread.len() + 1);
    }
}

//! The requests of a test client. Each one fails the test if its answer is not the expected kind.

use std::panic::Location;
use std::sync::PoisonError;

use candor_protocol::json::{Decode, Object, RawValue, raw};
use candor_protocol::names::method;
use candor_protocol::rpc::{ErrorObject, code};
use candor_protocol::types::{
    GetPromptResult, Prompt, ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Tool,
};
use serde::Serialize;
use serde_json::Value;

use super::called::TestResult;
use super::client::{Spot, TestClient, TestExchange, fail, subject};

impl TestClient {
    /// Calls a tool. The arguments are an object: `json!({"name": "Ada"})`, your own type, or `()` for none.
    ///
    /// A tool error is an ordinary result: see [`TestResult::is_error`].
    ///
    /// # Panics
    /// If the answer is a protocol error. For an unknown tool, the message lists the known ones.
    #[track_caller]
    pub fn call(&self, name: &str, arguments: impl Serialize) -> impl Future<Output = TestResult> {
        let at = Location::caller();
        let params = named(method::TOOLS_CALL, name, &arguments, at);
        async move {
            match self.called(params, at).await {
                Ok(called) => called,
                Err(error) => {
                    let tools: Vec<Tool> =
                        self.pages(method::TOOLS_LIST, "tools", at).await.unwrap_or_default();
                    let names = tools.into_iter().map(|tool| tool.name);
                    refused("tool", name, method::TOOLS_CALL, names, &self.explain(&error), at)
                }
            }
        }
    }

    /// Calls a tool, or returns the protocol error, for tests that expect one.
    #[track_caller]
    pub fn try_call(
        &self,
        name: &str,
        arguments: impl Serialize,
    ) -> impl Future<Output = Result<TestResult, ErrorObject>> {
        let at = Location::caller();
        let params = named(method::TOOLS_CALL, name, &arguments, at);
        async move { self.called(params, at).await }
    }

    /// Returns all tools, from all pages.
    ///
    /// # Panics
    /// If they cannot be listed, as in a server without tools.
    #[track_caller]
    pub fn tools(&self) -> impl Future<Output = Vec<Tool>> {
        self.listed(method::TOOLS_LIST, "tools")
    }

    /// Returns a tool as it is listed.
    ///
    /// # Panics
    /// If there is no such tool. The message lists the known ones.
    #[track_caller]
    pub fn tool(&self, name: &str) -> impl Future<Output = Tool> {
        let at = Location::caller();
        let listed = self.tools();
        async move {
            let mut tools = listed.await;
            match tools.iter().position(|tool| tool.name == name) {
                Some(found) => tools.swap_remove(found),
                None => fail(at, none("tool", name, tools.into_iter().map(|tool| tool.name))),
            }
        }
    }

    /// Returns all prompts, from all pages.
    ///
    /// # Panics
    /// If they cannot be listed, as in a server without prompts.
    #[track_caller]
    pub fn prompts(&self) -> impl Future<Output = Vec<Prompt>> {
        self.listed(method::PROMPTS_LIST, "prompts")
    }

    /// Returns all resources, from all pages.
    ///
    /// # Panics
    /// If they cannot be listed, as in a server without resources.
    #[track_caller]
    pub fn resources(&self) -> impl Future<Output = Vec<Resource>> {
        self.listed(method::RESOURCES_LIST, "resources")
    }

    /// Returns all resource templates, from all pages.
    ///
    /// # Panics
    /// If they cannot be listed, as in a server without resources.
    #[track_caller]
    pub fn templates(&self) -> impl Future<Output = Vec<ResourceTemplate>> {
        self.listed(method::RESOURCES_TEMPLATES_LIST, "resourceTemplates")
    }

    /// Reads a resource.
    ///
    /// # Panics
    /// If the answer is an error. For a resource that is not listed, the message lists the known ones.
    #[track_caller]
    pub fn read(&self, uri: &str) -> impl Future<Output = Vec<ResourceContents>> {
        let at = Location::caller();
        async move {
            match self.contents(uri, at).await {
                Ok(contents) => contents,
                Err(error) => {
                    let resources: Vec<Resource> = self
                        .pages(method::RESOURCES_LIST, "resources", at)
                        .await
                        .unwrap_or_default();
                    let templates: Vec<ResourceTemplate> = self
                        .pages(method::RESOURCES_TEMPLATES_LIST, "resourceTemplates", at)
                        .await
                        .unwrap_or_default();
                    let uris = resources.into_iter().map(|resource| resource.uri);
                    let uris = uris.chain(templates.into_iter().map(|t| t.uri_template));
                    refused(
                        "resource",
                        uri,
                        method::RESOURCES_READ,
                        uris,
                        &self.explain(&error),
                        at,
                    )
                }
            }
        }
    }

    /// Reads a resource, or returns the error, for tests that expect one.
    #[track_caller]
    pub fn try_read(
        &self,
        uri: &str,
    ) -> impl Future<Output = Result<Vec<ResourceContents>, ErrorObject>> {
        let at = Location::caller();
        async move { self.contents(uri, at).await }
    }

    /// Fills in a prompt. The arguments are an object of strings, or `()` for none.
    ///
    /// # Panics
    /// If the answer is an error. For an unknown prompt, the message lists the known ones.
    #[track_caller]
    pub fn prompt(
        &self,
        name: &str,
        arguments: impl Serialize,
    ) -> impl Future<Output = GetPromptResult> {
        let at = Location::caller();
        let params = named(method::PROMPTS_GET, name, &arguments, at);
        async move {
            match self.answer(method::PROMPTS_GET, params, at).await {
                Ok(filled) => filled,
                Err(error) => {
                    let prompts: Vec<Prompt> =
                        self.pages(method::PROMPTS_LIST, "prompts", at).await.unwrap_or_default();
                    let names = prompts.into_iter().map(|prompt| prompt.name);
                    refused("prompt", name, method::PROMPTS_GET, names, &self.explain(&error), at)
                }
            }
        }
    }

    /// Fills in a prompt, or returns the error, for tests that expect one.
    #[track_caller]
    pub fn try_prompt(
        &self,
        name: &str,
        arguments: impl Serialize,
    ) -> impl Future<Output = Result<GetPromptResult, ErrorObject>> {
        let at = Location::caller();
        let params = named(method::PROMPTS_GET, name, &arguments, at);
        async move { self.answer(method::PROMPTS_GET, params, at).await }
    }

    /// Sends any other request. Returns the result as JSON, or the protocol error. `()` means no parameters.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// # use candor_server::Server;
    /// let client = Server::new("greeter", "1.0.0").test();
    /// let discovered = client.request("server/discover", ()).await.unwrap();
    /// assert_eq!(discovered["supportedVersions"][0], "2026-07-28");
    /// assert_eq!(client.request("tools/list", ()).await.unwrap_err().code(), -32601);
    /// # }
    /// ```
    #[track_caller]
    pub fn request(
        &self,
        method: &str,
        params: impl Serialize,
    ) -> impl Future<Output = Result<Value, ErrorObject>> {
        let at = Location::caller();
        let params = match object(&params) {
            Ok(params) => params.map_or_else(Object::new, |params| members(&params)),
            Err(given) => {
                fail(at, format_args!("the parameters of {method} are an object, not {given}"))
            }
        };
        async move {
            let result = self.ask(method, params, at).await.outcome?;
            match serde_json::from_str(result.get()) {
                Ok(result) => Ok(result),
                Err(e) => fail(at, format_args!("the result of {method} cannot be read: {e}")),
            }
        }
    }

    /// Describes a protocol error, with the known internal reasons.
    pub(super) fn explain(&self, error: &ErrorObject) -> String {
        let reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        let reasons = reasons.iter().map(|reason| format!("\n  internal reason: {reason}"));
        summary(error) + &reasons.collect::<String>()
    }

    pub(super) async fn called(&self, params: Object, at: Spot) -> Result<TestResult, ErrorObject> {
        let TestExchange { outcome, notices, reasons } =
            self.ask(method::TOOLS_CALL, params, at).await;
        match TestResult::of(&outcome?, notices, reasons) {
            Ok(called) => Ok(called),
            Err(e) => fail(at, format_args!("the result of tools/call cannot be read: {e}")),
        }
    }

    async fn contents(&self, uri: &str, at: Spot) -> Result<Vec<ResourceContents>, ErrorObject> {
        let params = Object::new().with("uri", uri);
        let read: ReadResourceResult = self.answer(method::RESOURCES_READ, params, at).await?;
        Ok(read.contents)
    }

    /// Sends a request and decodes its result.
    pub(super) async fn answer<T: Decode>(
        &self,
        method: &str,
        params: Object,
        at: Spot,
    ) -> Result<T, ErrorObject> {
        let result = self.ask(method, params, at).await.outcome?;
        match T::decode((&*result).into()) {
            Ok(result) => Ok(result),
            Err(e) => fail(at, format_args!("the result of {method} cannot be read: {e}")),
        }
    }

    #[track_caller]
    fn listed<T: Decode>(
        &self,
        method: &'static str,
        key: &'static str,
    ) -> impl Future<Output = Vec<T>> {
        let at = Location::caller();
        async move {
            match self.pages(method, key, at).await {
                Ok(items) => items,
                Err(error) => fail(at, format_args!("{method}: {}", self.explain(&error))),
            }
        }
    }

    /// Returns a whole list, page by page.
    pub(super) async fn pages<T: Decode>(
        &self,
        method: &str,
        key: &str,
        at: Spot,
    ) -> Result<Vec<T>, ErrorObject> {
        let mut items = Vec::new();
        let mut params = Object::new();
        loop {
            let page: Object = self.answer(method, params, at).await?;
            match page.read::<Vec<T>>(key) {
                Ok(found) => items.extend(found.unwrap_or_default()),
                Err(e) => fail(at, format_args!("the result of {method} cannot be read: {e}")),
            }
            match page.get("nextCursor") {
                Some(cursor) => params = Object::new().with("cursor", &cursor),
                None => return Ok(items),
            }
        }
    }
}

/// Returns the parameters of a method that takes a name and arguments.
pub(super) fn named(method: &str, name: &str, arguments: &impl Serialize, at: Spot) -> Object {
    let params = Object::new().with("name", name);
    match object(arguments) {
        Ok(None) => params,
        Ok(Some(arguments)) => params.with("arguments", &arguments),
        Err(given) => fail(
            at,
            format_args!(
                "{}: the arguments are an object, such as json!({{\"name\": \"Ada\"}}), not {given}",
                subject(method, &params)
            ),
        ),
    }
}

/// Returns the value of a test if it is an object, and `None` for `()`. Fails with its JSON text otherwise.
fn object(given: &impl Serialize) -> Result<Option<Box<RawValue>>, String> {
    let given = raw(given);
    match given.get() {
        "null" => Ok(None),
        text if text.starts_with('{') => Ok(Some(given)),
        text => Err(text.to_owned()),
    }
}

fn members(object: &RawValue) -> Object {
    Object::decode(object.into()).unwrap_or_default()
}

/// Fails the test because of a protocol error. If the name is unknown, the message lists the known ones.
pub(super) fn refused(
    kind: &str,
    name: &str,
    method: &str,
    names: impl Iterator<Item = String>,
    error: &str,
    at: Spot,
) -> ! {
    let names: Vec<_> = names.collect();
    if names.iter().any(|known| known == name) {
        fail(at, format_args!("{method} of {name:?}: {error}"))
    }
    fail(at, format_args!("{}\n  {}", none(kind, name, names.into_iter()), error))
}

fn none(kind: &str, name: &str, names: impl Iterator<Item = String>) -> String {
    let mut names: Vec<_> = names.map(|name| format!("{name:?}")).collect();
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    let there_are = if names.is_empty() { "none at all".to_owned() } else { names.join(", ") };
    format!("there is no {kind} {name:?}; there are: {there_are}")
}

/// The most names that a message lists, so that a developer can find a typo.
const MOST_NAMES: usize = 50;

fn summary(error: &ErrorObject) -> String {
    let data = error.data.as_ref().map(|data| format!(", data {data}")).unwrap_or_default();
    let advice = match error.code() {
        code::MISSING_CLIENT_CAPABILITY => {
            "\n  the handler asks its client: say what it answers with `.on_elicit(…)`, `.on_sample(…)` or `.roots(…)`"
        }
        _ => "",
    };
    format!(
        "the server answered with an error: {} (code {}{data}){advice}",
        error.message,
        error.code()
    )
}

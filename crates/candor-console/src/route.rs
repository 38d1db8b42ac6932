//! What a row of the route table says, and which row a path means. Paths stay as received: a name may contain a slash, a percent
//! sign, or two dots.

use std::sync::Arc;

use axum::response::Response;
use candor_server::BoxFuture;
use candor_server::transport::http::{BodyNeed, SlotKind};
use http::HeaderValue;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::Inner;
use crate::access::Access;
use crate::operation::{Answer, Operation, Parameter, Shape};
use crate::problem::Problem;
use crate::request::ConsoleRequest;

/// Responds to an admitted request.
pub(crate) type Handler =
    for<'a> fn(&'a Arc<Inner>, &'a ConsoleRequest) -> BoxFuture<'a, Result<Response, Problem>>;

/// One route: a method and a path, what a request needs, the handler, and the description for OpenAPI.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    /// The path below the mount. The placeholder `{name}` may contain slashes, `{id}` may not.
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    pub(crate) backend: Backend,
    /// The slot that a request takes while it runs, from the same capacity as the MCP endpoint: otherwise a caller that has used up
    /// one could continue through the other.
    ///
    /// Assets, logins, approvals and history take none. If calls use all slots, an operator must still be able to see and decide
    /// them: calls that wait for approval keep their slots until then.
    pub(crate) slot: Option<SlotKind>,
    pub(crate) body: BodyNeed,
    /// True if a cookie alone is not enough: for everything that changes state, and for the list, metadata and content of
    /// resources. Pages need no proof: a browser that navigates to a page can send nothing but the cookie.
    pub(crate) proof: bool,
    /// True if the route runs a tool, which the console may not allow.
    pub(crate) runs: bool,
    /// True if the route makes the caller's own call, which runs in the order of arrival.
    pub(crate) ordered: bool,
    pub(crate) handler: Handler,
    /// `None` for pages and what belongs to them.
    pub(crate) operation: Option<Operation>,
}

/// The part of a console that a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    Nothing,
    /// A server. A console of a ledger alone has no such route.
    Server,
    Ledger,
}

impl Route {
    /// A route that reads.
    pub(crate) const fn get(path: &'static str, access: Access, handler: Handler) -> Self {
        Self {
            method: "GET",
            path,
            access,
            backend: Backend::Nothing,
            slot: None,
            body: BodyNeed::Any,
            proof: false,
            runs: false,
            ordered: false,
            handler,
            operation: None,
        }
    }

    /// A route that changes state.
    pub(crate) const fn post(path: &'static str, access: Access, handler: Handler) -> Self {
        Self { method: "POST", proof: true, ..Self::get(path, access, handler) }
    }

    /// A route that ends something.
    pub(crate) const fn delete(path: &'static str, access: Access, handler: Handler) -> Self {
        Self { method: "DELETE", ..Self::post(path, access, handler) }
    }

    pub(crate) const fn of_server(mut self, slot: SlotKind) -> Self {
        self.backend = Backend::Server;
        self.slot(slot)
    }

    pub(crate) const fn of_ledger(mut self) -> Self {
        self.backend = Backend::Ledger;
        self
    }

    pub(crate) const fn slot(mut self, slot: SlotKind) -> Self {
        self.slot = Some(slot);
        self
    }

    pub(crate) const fn proof(mut self, proof: bool) -> Self {
        self.proof = proof;
        self
    }

    /// A login: its sender is not authenticated.
    pub(crate) const fn login(mut self) -> Self {
        self.body = BodyNeed::Small;
        self.proof(false)
    }

    pub(crate) const fn runs(mut self) -> Self {
        self.runs = true;
        self
    }

    pub(crate) const fn ordered(mut self) -> Self {
        self.ordered = true;
        self
    }

    pub(crate) const fn described(
        mut self,
        id: &'static str,
        summary: &'static str,
        parameters: &'static [Parameter],
        answers: &'static [Answer],
    ) -> Self {
        self.operation = Some(Operation { id, summary, parameters, body: None, answers });
        self
    }

    /// Names the schema of the body.
    pub(crate) const fn takes(mut self, shape: Shape) -> Self {
        if let Some(operation) = &mut self.operation {
            operation.body = Some(shape);
        }
        self
    }

    /// Returns the slot that the request of a caller takes. An operator's pages take none.
    pub(crate) fn slot_for(&self, operator: bool) -> Option<SlotKind> {
        let is_page = self.operation.is_none();
        self.slot.filter(|_| !(operator && is_page))
    }

    /// Returns true if the last segment of the path is a verb after a name. It is a verb only in requests that act:
    /// `GET /tools/x/call` is the tool `x/call`, and `POST /tools/x/call/call` calls it.
    fn is_verb(&self) -> bool {
        self.path.contains("{name}/")
    }

    /// Returns the value of the placeholder, still encoded, if this is the route of a path. A slash at the end changes nothing,
    /// unless it belongs to a name.
    fn value<'p>(&self, path: &'p str) -> Option<&'p str> {
        let shorter = path.strip_suffix('/').unwrap_or(path);
        let Some((before, rest)) = self.path.split_once('{') else {
            return (shorter == self.path || path == self.path).then_some("");
        };
        let (placeholder, after) = rest.split_once('}')?;
        let within = |path: &'p str| path.strip_prefix(before)?.strip_suffix(after);
        match placeholder {
            "name" => within(path),
            _ => within(shorter).filter(|id| !id.is_empty() && !id.contains('/')),
        }
    }
}

/// The routes of one path, and the value of its placeholder.
pub(crate) struct MatchedPath {
    routes: Vec<&'static Route>,
    pub(crate) value: String,
}

impl MatchedPath {
    /// Finds the routes of a raw path, relative to where the router is mounted. `reads`: the request only reads.
    pub(crate) fn find(
        routes: &'static [Route],
        path: &str,
        reads: bool,
        has_server: bool,
    ) -> Result<Self, Problem> {
        let path = match path {
            "" | "/ui" | "/ui/" | "/ui/tools" | "/ui/tools/" => "/",
            path => path,
        };
        let here = |route: &&Route| has_server || route.backend != Backend::Server;
        let means = |route: &'static Route| match reads && route.is_verb() {
            true => None,
            false => Some((route, route.value(path)?)),
        };
        let found = routes.iter().filter(here).find_map(means);
        let (first, value) = found.ok_or_else(Problem::no_such_path)?;
        let value = decoded(value)?;
        let routes = routes.iter().filter(here).filter(|route| route.path == first.path).collect();
        Ok(Self { routes, value })
    }

    /// Returns the route of a method.
    pub(crate) fn route(&self, method: &str) -> Option<&'static Route> {
        self.routes.iter().copied().find(|route| route.method == method)
    }

    /// Returns the methods of the path, for the header `Allow`.
    pub(crate) fn allowed(&self) -> HeaderValue {
        let with_head = |route: &&'static Route| match route.method {
            "GET" => "GET, HEAD",
            method => method,
        };
        let methods: Vec<_> = self.routes.iter().map(with_head).chain(["OPTIONS"]).collect();
        HeaderValue::from_str(&methods.join(", ")).expect("methods are plain text")
    }
}

/// Decodes once. Refuses invalid percent-encoding instead of guessing.
fn decoded(text: &str) -> Result<String, Problem> {
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let hex = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
        if *byte == b'%' && !(hex(at + 1) && hex(at + 2)) {
            return Err(Problem::bad_request(
                "The path has a % that is not followed by two hexadecimal digits; write %25",
            ));
        }
    }
    percent_decode_str(text)
        .decode_utf8()
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| Problem::bad_request("The path is not UTF-8 once it is decoded"))
}

/// The characters to encode: all except those that no server and no proxy changes.
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'~');

/// Returns a name as a part of a path. Encodes dots too: browsers read `..` as the parent folder.
pub(crate) fn encoded(name: &str) -> String {
    utf8_percent_encode(name, IN_PATH).to_string()
}

//! Parses the path of a request into a route. Paths stay as received: a name may contain a slash, a percent sign, or two dots.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::problem::Problem;

/// The meaning of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// The page that lists the tools.
    Home,
    Tools,
    Tool(String),
    /// An action on a tool, named by the last segment of the path.
    Verb(String, Verb),
    Resources(Resource),
    Approvals,
    ApprovalEvents,
    Approval(String),
    Decision(String, ReviewVerb),
    Grants,
    Grant(String),
    History,
    Export,
    Operation(String),
    Resolve(String),
    OpenApi,
    /// Logging in and out.
    Session,
    Asset(String),
    Page(Page),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Validate,
    Annotations,
    Preview,
    Call,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    /// The children of `?uri=`, or the resources at the root.
    List,
    Metadata,
    Content,
    /// A stream of changes.
    Events,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReviewVerb {
    Approve,
    Deny,
}

/// Pages for users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Page {
    Tool(String),
    Approvals,
    Approval(String),
    History,
    Operation(String),
    Resources,
    Server,
}

impl Route {
    /// Parses the raw path of a request, relative to where the router is mounted.
    ///
    /// Removes at most one verb from the end, and only if the request may act (`posts`). So `GET /tools/x/call` is the tool
    /// `x/call`, and `POST /tools/x/call/call` calls it.
    pub(crate) fn read(path: &str, posts: bool) -> Result<Self, Problem> {
        let path = path.strip_prefix('/').unwrap_or(path);
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        match (first, rest) {
            ("", _) => Ok(Self::Home),
            ("tools", "") => Ok(Self::Tools),
            ("tools", name) => tool(name, posts),
            ("resources", "") => Ok(Self::Resources(Resource::List)),
            ("resources", "metadata") => Ok(Self::Resources(Resource::Metadata)),
            ("resources", "content") => Ok(Self::Resources(Resource::Content)),
            ("resources", "events") => Ok(Self::Resources(Resource::Events)),
            ("approvals", rest) => approvals(rest),
            ("history", "") => Ok(Self::History),
            ("history", "export") => Ok(Self::Export),
            ("history", rest) => match rest.split_once('/') {
                None => decoded(rest).map(Self::Operation),
                Some((id, "resolve")) => decoded(id).map(Self::Resolve),
                Some(_) => Err(Problem::no_such_path()),
            },
            ("openapi.json", "") => Ok(Self::OpenApi),
            ("ui", rest) => page(rest),
            _ => Err(Problem::no_such_path()),
        }
    }
}

fn tool(rest: &str, posts: bool) -> Result<Route, Problem> {
    if posts
        && let Some((name, verb)) = rest.rsplit_once('/')
        && let Some(verb) = match verb {
            "validate" => Some(Verb::Validate),
            "annotations" => Some(Verb::Annotations),
            "preview" => Some(Verb::Preview),
            "call" => Some(Verb::Call),
            _ => None,
        }
    {
        return Ok(Route::Verb(decoded(name)?, verb));
    }
    decoded(rest).map(Route::Tool)
}

fn approvals(rest: &str) -> Result<Route, Problem> {
    match rest.split_once('/').unwrap_or((rest, "")) {
        ("", _) => Ok(Route::Approvals),
        ("events", "") => Ok(Route::ApprovalEvents),
        ("grants", "") => Ok(Route::Grants),
        ("grants", id) => decoded(id).map(Route::Grant),
        (id, "") => decoded(id).map(Route::Approval),
        (id, "approve") => Ok(Route::Decision(decoded(id)?, ReviewVerb::Approve)),
        (id, "deny") => Ok(Route::Decision(decoded(id)?, ReviewVerb::Deny)),
        _ => Err(Problem::no_such_path()),
    }
}

fn page(rest: &str) -> Result<Route, Problem> {
    let (first, rest) = rest.split_once('/').unwrap_or((rest, ""));
    Ok(match (first, rest) {
        ("" | "tools", "") => Route::Home,
        ("tools", name) => Route::Page(Page::Tool(decoded(name)?)),
        ("approvals", "") => Route::Page(Page::Approvals),
        ("approvals", id) => Route::Page(Page::Approval(decoded(id)?)),
        ("history", "") => Route::Page(Page::History),
        ("history", id) => Route::Page(Page::Operation(decoded(id)?)),
        ("resources", "") => Route::Page(Page::Resources),
        ("server", "") => Route::Page(Page::Server),
        ("session", "") => Route::Session,
        ("assets", name) => Route::Asset(name.to_owned()),
        _ => return Err(Problem::no_such_path()),
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Route {
        Route::read(path, false).unwrap()
    }

    #[test]
    fn route_decodes_a_tool_name_once() {
        for name in
            ["image/resize", "100% sure?", "x/call", "validate", "..", "é ü", "a%2Fb", "a//b"]
        {
            let path = format!("/tools/{}", encoded(name));
            assert_eq!(read(&path), Route::Tool(name.to_owned()), "{path}");
            let path = format!("{path}/call");
            let posted = Route::read(&path, true).unwrap();
            assert_eq!(posted, Route::Verb(name.to_owned(), Verb::Call), "{path}");
        }
        assert_eq!(read("/tools/image/resize"), Route::Tool("image/resize".to_owned()));
        assert_eq!(read("/tools/a%252Fb"), Route::Tool("a%2Fb".to_owned()));
        assert_eq!(read("/tools/x/call"), Route::Tool("x/call".to_owned()));
        assert_eq!(read("/tools/"), Route::Tools);
    }

    #[test]
    fn invalid_percent_encoding_is_refused() {
        for path in ["/tools/100%_sure", "/tools/%", "/tools/%ff%fe", "/tools/%4"] {
            let problem = Route::read(path, false).unwrap_err();
            assert_eq!(problem.status(), http::StatusCode::BAD_REQUEST, "{path}");
        }
        for path in ["/meta", "/toolsx", "/ui/nothing", "/history/a/b", "/approvals/a/b"] {
            let problem = Route::read(path, false).unwrap_err();
            assert_eq!(problem.status(), http::StatusCode::NOT_FOUND, "{path}");
        }
    }
}

//! Authentication and access checks. They run before the server reads the body of a request.

use candor_server::auth::{Claims, Identity};
use candor_server::protocol::Principal;
use candor_server::transport::http::AllowedHosts;
use http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method};

use crate::Inner;
use crate::problem::Problem;
use crate::route::{Page, Resource, Route, Verb};
use crate::session::{LoginSession, hash};

/// The header with which a page of the console sends its proof.
pub(crate) const PROOF: &str = "x-candor-csrf";

pub(crate) use candor_server::auth::OPERATOR;

/// The caller of a request to the console.
#[derive(Debug, Clone)]
pub(crate) struct ConsoleIdentity {
    pub(crate) principal: Principal,
    /// What else the authenticator knows about the caller.
    pub(crate) claims: Claims,
    /// True if the caller may see and decide the calls of others.
    pub(crate) operator: bool,
    pub(crate) way: AuthMethod,
}

/// How a caller authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AuthMethod {
    /// Not authenticated.
    Unknown,
    /// By a token in the request, which no page can send by accident. Also by anything else that the authenticator accepts.
    Bearer,
    /// By a cookie. A browser sends it by itself, and to every port of a host. A request that acts must also send the proof with
    /// this hash.
    Cookie { proof: [u8; 32] },
}

impl ConsoleIdentity {
    fn new(Identity { principal, claims }: Identity, operator: bool, way: AuthMethod) -> Self {
        Self { principal, claims, operator, way }
    }

    fn unknown() -> Self {
        Self::new(Identity::new(Principal::anonymous()), false, AuthMethod::Unknown)
    }

    pub(crate) fn is_known(&self) -> bool {
        self.way != AuthMethod::Unknown
    }
}

/// The access that a route requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Any request, even if the server authenticates its callers: a login needs it.
    Anybody,
    /// Any caller that may use the server at all.
    Caller,
    /// Any authenticated caller.
    Known,
    /// An operator.
    Operator,
}

pub(crate) fn access(route: &Route) -> Access {
    match route {
        Route::Asset(_) | Route::Session => Access::Anybody,
        Route::Home
        | Route::Tools
        | Route::Tool(_)
        | Route::Verb(_, Verb::Validate | Verb::Annotations)
        | Route::OpenApi
        | Route::Page(Page::Tool(_) | Page::Server) => Access::Caller,
        Route::Verb(_, Verb::Preview | Verb::Call)
        | Route::Resources(_)
        | Route::Page(Page::Resources) => Access::Known,
        Route::Approvals
        | Route::ApprovalEvents
        | Route::Approval(_)
        | Route::Decision(..)
        | Route::Grants
        | Route::Grant(_)
        | Route::History
        | Route::Export
        | Route::Operation(_)
        | Route::Resolve(_)
        | Route::Page(Page::Approvals | Page::Approval(_) | Page::History | Page::Operation(_)) => {
            Access::Operator
        }
    }
}

/// Returns the origin of the request if it is another origin whose pages may use the API.
pub(crate) fn foreign_origin(console: &Inner, headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(ORIGIN)?;
    let known = console.origins.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes());
    known.then(|| origin.clone())
}

/// Checks that the request addresses this server.
pub(crate) fn check_host(console: &Inner, parts: &Parts) -> Result<(), Problem> {
    let checked = match foreign_origin(console, &parts.headers) {
        None => console.hosts.check(parts),
        Some(_) => {
            let mut without = parts.clone();
            without.headers.remove(ORIGIN);
            console.hosts.check(&without)
        }
    };
    checked.map_err(|problem| Problem::forbidden("forbidden_origin", problem))
}

/// Authenticates the caller.
pub(crate) async fn visitor(console: &Inner, parts: &Parts) -> Result<ConsoleIdentity, Problem> {
    if let Some(token) = bearer(&parts.headers) {
        if hash(token) == console.launch {
            let operator = Identity::new(Principal::new(OPERATOR));
            return Ok(ConsoleIdentity::new(operator, true, AuthMethod::Bearer));
        }
        let Some(authenticator) = &console.authenticator else {
            console.rooms.log_refusal(parts);
            return Err(Problem::unauthorized("This token is from an earlier start of the server"));
        };
        return match authenticator.authenticate(parts).await {
            Ok(identity) => {
                let operator = authenticator.is_operator(&identity.principal);
                Ok(ConsoleIdentity::new(identity, operator, AuthMethod::Bearer))
            }
            Err(_) => {
                console.rooms.log_refusal(parts);
                Err(Problem::unauthorized("This token is not known here"))
            }
        };
    }
    if let Some(LoginSession { principal, claims, operator, proof }) =
        cookie(&parts.headers).and_then(|cookie| console.sessions.get(cookie))
    {
        return Ok(ConsoleIdentity {
            principal,
            claims,
            operator,
            way: AuthMethod::Cookie { proof },
        });
    }
    // An authenticator may know callers by something other than a token.
    if let Some(authenticator) = &console.authenticator
        && let Ok(identity) = authenticator.authenticate(parts).await
    {
        let operator = authenticator.is_operator(&identity.principal);
        return Ok(ConsoleIdentity::new(identity, operator, AuthMethod::Bearer));
    }
    Ok(ConsoleIdentity::unknown())
}

/// Checks that the caller may use the route.
pub(crate) fn admit(
    console: &Inner,
    visitor: &ConsoleIdentity,
    route: &Route,
) -> Result<(), Problem> {
    let closed = console.authenticator.is_some();
    match access(route) {
        Access::Caller if !closed => Ok(()),
        Access::Caller | Access::Known | Access::Operator if !visitor.is_known() => {
            Err(Problem::unauthorized(console.where_the_token_is()))
        }
        Access::Operator if !visitor.operator => {
            Err(Problem::forbidden("not_an_operator", "Only an operator may see or decide this"))
        }
        _ => Ok(()),
    }
}

/// Returns true if a cookie alone is not enough: for everything that changes state, and for the list, metadata and content of
/// resources. Pages need no proof: a browser that navigates to a page can send nothing but the cookie.
fn needs_proof(route: &Route, method: &Method) -> bool {
    match route {
        // A login sends the token itself, and a logout ends only the caller's own session.
        Route::Session => false,
        Route::Resources(Resource::List | Resource::Metadata | Resource::Content) => true,
        _ => !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS),
    }
}

/// Checks that a request with a cookie comes from a page of the console, not just from a browser that has opened one.
pub(crate) fn check_proof(
    visitor: &ConsoleIdentity,
    route: &Route,
    method: &Method,
    headers: &HeaderMap,
) -> Result<(), Problem> {
    let AuthMethod::Cookie { proof } = &visitor.way else { return Ok(()) };
    if !needs_proof(route, method) {
        return Ok(());
    }
    match headers.get(PROOF) {
        Some(sent) if hash(&String::from_utf8_lossy(sent.as_bytes())) == *proof => Ok(()),
        _ => Err(Problem::forbidden(
            "csrf",
            "A cookie alone is not enough for this: log in again at the top of the page, then repeat it. Programs send Authorization: Bearer",
        )),
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Returns the name of the cookie. It contains the port: cookies ignore ports, so two servers on one machine would share a name.
pub(crate) fn cookie_name(headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host.rsplit_once(':').map(|(_, port)| port);
    let port = port.filter(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
    format!("candor_{}", port.unwrap_or("default"))
}

/// Returns the value of the console's cookie.
pub(crate) fn cookie(headers: &HeaderMap) -> Option<&str> {
    let name = cookie_name(headers);
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(';')).find_map(|pair| {
        let (key, value) = pair.trim().split_once('=')?;
        (key == name).then_some(value)
    })
}

/// Returns true if cookies may travel over encrypted connections only.
pub(crate) fn is_secure(hosts: &AllowedHosts) -> bool {
    matches!(hosts, AllowedHosts::Public(url) if url.to_string().starts_with("https:"))
}

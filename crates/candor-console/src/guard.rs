//! Who is asking, and whether they may: before anything else is looked at.

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

/// The header by which a page of ours proves that it is one.
pub(crate) const PROOF: &str = "x-candor-csrf";

pub(crate) use candor_server::auth::OPERATOR;

/// Who is asking.
#[derive(Debug, Clone)]
pub(crate) struct ConsoleIdentity {
    pub(crate) principal: Principal,
    /// What else the authenticator knows of them.
    pub(crate) claims: Claims,
    /// May decide about the calls of others, and see them.
    pub(crate) operator: bool,
    pub(crate) way: AuthMethod,
}

/// How that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AuthMethod {
    /// It is not.
    Unknown,
    /// By a token in the request, which no page can send by accident.
    Bearer,
    /// By a cookie, which a browser sends by itself, and to every port of a host: what is done must bring besides what has this hash.
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

/// Who may ask for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everybody, also where everybody else must be known: it is needed to log in.
    Anybody,
    /// Everybody who may speak to the server at all.
    Caller,
    /// Whoever is known.
    Known,
    /// Who decides about the calls of others.
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

/// The origin of a page that may use the API from elsewhere, if this request is from one.
pub(crate) fn foreign_origin(console: &Inner, headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(ORIGIN)?;
    let known = console.origins.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes());
    known.then(|| origin.clone())
}

/// Lets a request in if it addresses this server.
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

/// Finds out who it is.
pub(crate) async fn visitor(console: &Inner, parts: &Parts) -> Result<ConsoleIdentity, Problem> {
    if let Some(token) = bearer(&parts.headers) {
        if hash(token) == console.launch {
            let operator = Identity::new(Principal::new(OPERATOR));
            return Ok(ConsoleIdentity::new(operator, true, AuthMethod::Bearer));
        }
        let Some(authenticator) = &console.authenticator else {
            console.rooms.log_refusal(parts);
            return Err(Problem::unauthorized("This token is not the one of this launch"));
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
    // An authenticator may know callers by something else than a token.
    if let Some(authenticator) = &console.authenticator
        && let Ok(identity) = authenticator.authenticate(parts).await
    {
        let operator = authenticator.is_operator(&identity.principal);
        return Ok(ConsoleIdentity::new(identity, operator, AuthMethod::Bearer));
    }
    Ok(ConsoleIdentity::unknown())
}

/// Whether they may.
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

/// Whether a cookie alone is not enough: for all that changes something, and for what stands in resources. What pages show is not
/// among it, for a browser that goes to a page can bring nothing else.
fn needs_proof(route: &Route, method: &Method) -> bool {
    match route {
        // Who logs in brings the token, and who logs out takes away nothing but their own.
        Route::Session => false,
        Route::Resources(Resource::List | Resource::Metadata | Resource::Content) => true,
        _ => !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS),
    }
}

/// What comes with a cookie must come from a page of ours, not only from a browser that has been at one.
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

/// Cookies do not know ports: two servers on one machine would take each other's.
pub(crate) fn cookie_name(headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host.rsplit_once(':').map(|(_, port)| port);
    let port = port.filter(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
    format!("candor_{}", port.unwrap_or("default"))
}

/// The value of our cookie.
pub(crate) fn cookie(headers: &HeaderMap) -> Option<&str> {
    let name = cookie_name(headers);
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(';')).find_map(|pair| {
        let (key, value) = pair.trim().split_once('=')?;
        (key == name).then_some(value)
    })
}

/// Whether cookies may travel over encrypted connections only.
pub(crate) fn is_secure(hosts: &AllowedHosts) -> bool {
    matches!(hosts, AllowedHosts::Public(url) if url.to_string().starts_with("https:"))
}

//! Who a caller of the console is, and what it may use. These checks run before the server reads the body of a request.

use candor_server::auth::{Claims, Identity, OPERATOR, bearer_token};
use candor_server::protocol::Principal;
use candor_server::transport::http::AllowedHosts;
use http::HeaderMap;
use http::header::{AUTHORIZATION, COOKIE, HOST};
use http::request::Parts;

use crate::Inner;
use crate::problem::Problem;
use crate::session::{LoginSession, hash};

/// The header with which a page of the console sends its proof.
const PROOF: &str = "x-candor-csrf";

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

    pub(crate) fn identity(&self) -> Identity {
        Identity { principal: self.principal.clone(), claims: self.claims.clone() }
    }
}

/// The access that a route requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Any request, even if the server authenticates its callers: a login needs it.
    Anyone,
    /// Any caller that may use the server at all.
    Caller,
    /// Any authenticated caller.
    Authenticated,
    /// An operator.
    Operator,
}

/// Finds the caller of a request.
pub(crate) async fn identify(console: &Inner, head: &Parts) -> Result<ConsoleIdentity, Problem> {
    if let Some(token) = head.headers.get(AUTHORIZATION).and_then(bearer_token) {
        let known = of_token(console, head, token).await;
        let (identity, operator) = known.ok_or_else(|| match console.front.authenticator() {
            None => Problem::unauthorized("This token is from an earlier start of the server"),
            Some(_) => Problem::unauthorized("This token is not known here"),
        })?;
        return Ok(ConsoleIdentity::new(identity, operator, AuthMethod::Bearer));
    }
    if let Some(LoginSession { principal, claims, operator, proof }) =
        cookie(&head.headers).and_then(|cookie| console.sessions.get(cookie))
    {
        let way = AuthMethod::Cookie { proof };
        return Ok(ConsoleIdentity { principal, claims, operator, way });
    }
    // An authenticator may know callers by something other than a token.
    Ok(match of_authenticator(console, head).await {
        Some((identity, operator)) => ConsoleIdentity::new(identity, operator, AuthMethod::Bearer),
        None => ConsoleIdentity::unknown(),
    })
}

/// Returns the identity behind the token that a request has, and true for an operator: that of the launch, or one that the
/// authenticator accepts.
pub(crate) async fn of_token(
    console: &Inner,
    head: &Parts,
    token: &str,
) -> Option<(Identity, bool)> {
    if hash(token) == console.launch {
        return Some((Identity::new(Principal::new(OPERATOR)), true));
    }
    if console.front.authenticator().is_none() {
        console.front.log_refusal(head);
    }
    of_authenticator(console, head).await
}

async fn of_authenticator(console: &Inner, head: &Parts) -> Option<(Identity, bool)> {
    let authenticator = console.front.authenticator()?;
    let identity = console.front.identify(head).await.ok()?;
    let operator = authenticator.is_operator(&identity.principal);
    Some((identity, operator))
}

/// Checks that a caller has the access that a route requires.
pub(crate) fn check(
    console: &Inner,
    visitor: &ConsoleIdentity,
    access: Access,
) -> Result<(), Problem> {
    let is_open = console.front.authenticator().is_none();
    match access {
        Access::Anyone => Ok(()),
        Access::Caller if is_open => Ok(()),
        _ if !visitor.is_known() => Err(Problem::unauthorized(console.where_the_token_is())),
        Access::Operator if !visitor.operator => {
            Err(Problem::forbidden("not_an_operator", "Only an operator may see or decide this"))
        }
        _ => Ok(()),
    }
}

/// Checks that a request with a cookie comes from a page of the console, not just from a browser that has opened one.
pub(crate) fn check_proof(visitor: &ConsoleIdentity, headers: &HeaderMap) -> Result<(), Problem> {
    let AuthMethod::Cookie { proof } = &visitor.way else { return Ok(()) };
    match headers.get(PROOF) {
        Some(sent) if hash(&String::from_utf8_lossy(sent.as_bytes())) == *proof => Ok(()),
        _ => Err(Problem::forbidden(
            "csrf",
            "A cookie alone is not enough for this: log in again at the top of the page, then repeat it. Programs send Authorization: Bearer",
        )),
    }
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

//! Logging in with a token, and out.

use axum::body::Body;
use axum::response::Response;
use candor_server::auth::Identity;
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, SET_COOKIE};
use http::{HeaderValue, StatusCode};
use serde_json::json;

use crate::access;
use crate::problem::Problem;
use crate::request::{ConsoleRequest, decoded};
use crate::ui::shell::home;
use crate::{Inner, rest};

/// How long a browser stores the cookie, in seconds. Its session may end before.
const KEPT: u32 = 30 * 24 * 3600;

/// Exchanges a token for a cookie and a proof.
///
/// A form gets only the cookie. Without a script, a page can neither store nor send the proof.
pub(crate) async fn log_in(console: &Inner, asked: &ConsoleRequest) -> Result<Response, Problem> {
    let form = is_form(asked);
    let token = token(asked, form)?;
    let (identity, operator) = known(console, asked, &token).await?;
    let who = identity.principal.as_str().to_owned();
    let opened = console.sessions.open(identity, operator);
    let response = if form {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SEE_OTHER;
        let home = HeaderValue::from_str(&home(&asked.base));
        response.headers_mut().insert(LOCATION, home.unwrap_or(HeaderValue::from_static("/")));
        response
    } else {
        let said = json!({"principal": who, "operator": operator, "proof": opened.proof});
        rest::json(said.to_string())
    };
    Ok(with_cookie(console, asked, &opened.cookie, KEPT, response))
}

/// Ends the session of the cookie.
pub(crate) fn log_out(console: &Inner, asked: &ConsoleRequest) -> Response {
    if let Some(cookie) = access::cookie(&asked.parts.headers) {
        console.sessions.close(cookie);
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    with_cookie(console, asked, "", 0, response)
}

fn is_form(asked: &ConsoleRequest) -> bool {
    let kind = asked.parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"))
}

fn token(asked: &ConsoleRequest, form: bool) -> Result<String, Problem> {
    let missing = || Problem::bad_request("Send {\"token\": \"…\"}");
    if form {
        let body = String::from_utf8_lossy(&asked.body);
        let mut pairs = body.split('&').filter_map(|pair| pair.split_once('='));
        let token = pairs.find(|(key, _)| *key == "token").map(|(_, value)| decoded(value));
        return token.map(|token| token.trim().to_owned()).ok_or_else(missing);
    }
    let sent: serde_json::Value = serde_json::from_slice(&asked.body).map_err(|_| missing())?;
    sent["token"].as_str().map(str::to_owned).ok_or_else(missing)
}

/// Returns the identity behind a token, and true for an operator.
async fn known(
    console: &Inner,
    asked: &ConsoleRequest,
    token: &str,
) -> Result<(Identity, bool), Problem> {
    let mut head = asked.parts.clone();
    let known = match HeaderValue::from_str(&format!("Bearer {token}")) {
        Ok(header) => {
            head.headers.insert(AUTHORIZATION, header);
            access::of_token(console, &head, token).await
        }
        Err(_) => {
            console.front.log_refusal(&head);
            None
        }
    };
    known.ok_or_else(|| Problem::unauthorized("This token is not known here"))
}

fn with_cookie(
    console: &Inner,
    asked: &ConsoleRequest,
    value: &str,
    seconds: u32,
    mut response: Response,
) -> Response {
    let name = access::cookie_name(&asked.parts.headers);
    let secure = if access::is_secure(console.front.hosts()) { "; Secure" } else { "" };
    let cookie = format!(
        "{name}={value}; Path={}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}",
        if asked.base.is_empty() { "/" } else { &asked.base }
    );
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

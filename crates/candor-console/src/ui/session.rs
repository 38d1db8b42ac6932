//! Logging in with a token, and out.

use axum::body::Body;
use axum::response::Response;
use candor_server::auth::Identity;
use candor_server::protocol::Principal;
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, SET_COOKIE};
use http::{HeaderValue, Method, StatusCode};
use serde_json::json;

use crate::guard::{self, OPERATOR};
use crate::problem::Problem;
use crate::serve::{ConsoleRequest, decoded};
use crate::session::hash;
use crate::ui::shell::home;
use crate::{Inner, rest};

/// How long a browser stores the cookie, in seconds. Its session may end before.
const KEPT: u32 = 30 * 24 * 3600;

/// Logs in or out: `POST` exchanges a token for a cookie and a proof, `DELETE` ends the session.
///
/// A form gets only the cookie. Without a script, a page can neither store nor send the proof.
pub(crate) async fn answer(console: &Inner, asked: &ConsoleRequest) -> Result<Response, Problem> {
    if asked.parts.method == Method::DELETE {
        if let Some(cookie) = guard::cookie(&asked.parts.headers) {
            console.sessions.close(cookie);
        }
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        return Ok(with_cookie(console, asked, "", 0, response));
    }
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

/// Returns the identity behind a token: that of the launch, or one that the authenticator accepts.
async fn known(
    console: &Inner,
    asked: &ConsoleRequest,
    token: &str,
) -> Result<(Identity, bool), Problem> {
    if hash(token) == console.launch {
        return Ok((Identity::new(Principal::new(OPERATOR)), true));
    }
    let refused = || {
        console.rooms.log_refusal(&asked.parts);
        Problem::unauthorized("This token is not known here")
    };
    let authenticator = console.authenticator.as_ref().ok_or_else(refused)?;
    let mut parts = asked.parts.clone();
    let header = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| refused())?;
    parts.headers.insert(AUTHORIZATION, header);
    let identity = authenticator.authenticate(&parts).await.map_err(|_| refused())?;
    let operator = authenticator.is_operator(&identity.principal);
    Ok((identity, operator))
}

fn with_cookie(
    console: &Inner,
    asked: &ConsoleRequest,
    value: &str,
    seconds: u32,
    mut response: Response,
) -> Response {
    let name = guard::cookie_name(&asked.parts.headers);
    let secure = if guard::is_secure(&console.hosts) { "; Secure" } else { "" };
    let cookie = format!(
        "{name}={value}; Path={}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}",
        if asked.base.is_empty() { "/" } else { &asked.base }
    );
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

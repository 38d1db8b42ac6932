use candor::prelude::*;
use std::borrow::Cow;

struct Json<T>(T);
struct HeaderMap;

#[candor::args]
struct User {
    name: String,
}

/// Greets a user.
#[tool(reads)]
async fn greet(user: Json<User>) -> String {
    user.0.name
}

/// Returns a user.
#[tool(reads)]
async fn find(name: String) -> Result<Json<User>, ToolError> {
    Ok(Json(User { name }))
}

/// Counts users.
#[tool(reads)]
async fn count(db: axum::extract::State<User>) -> usize {
    db.0.name.len()
}

/// Returns a header.
#[tool(reads)]
async fn header(headers: HeaderMap) -> String {
    String::new()
}

/// Returns a text.
#[tool(reads)]
async fn text() -> Cow<'_, str> {
    "a".into()
}

fn main() {
    let _ = tools![greet, find, count, header, text];
}

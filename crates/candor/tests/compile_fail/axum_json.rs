use candor::prelude::*;

struct Json<T>(T);

#[candor::args]
struct User {
    name: String,
}

/// Greets a user.
#[tool(reads)]
async fn greet(Json(user): Json<User>) -> String {
    user.name
}

fn main() {
    let _ = tools![greet];
}

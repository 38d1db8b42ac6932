//! Schemas from signatures: from a number to a union, each tool is a function and nothing else.
//!
//! Run with `cargo run --example schemas`, and list its tools with any client: what is published is what the functions
//! accept and return.

// Tools own their arguments, even if they only read them.
#![allow(clippy::needless_pass_by_value)]

use std::collections::BTreeMap;

use candor::prelude::*;

// ---- scalars and containers

/// The answer
#[tool(reads)]
fn answer() -> i64 {
    7
}

#[tool(reads)]
fn greet(name: String, age: i64, #[default(true)] active: bool) -> String {
    let _ = active;
    format!("Hello {name}, age {age}")
}

#[tool(reads)]
fn analyze(values: Vec<i64>, metadata: BTreeMap<String, String>) -> BTreeMap<String, f64> {
    let _ = metadata;
    #[allow(clippy::cast_precision_loss)]
    let mean = values.iter().map(|value| *value as f64).sum::<f64>() / values.len() as f64;
    BTreeMap::from([("mean".to_owned(), mean)])
}

#[tool(reads)]
async fn get_temperature(city: String) -> f64 {
    let _ = city;
    72.5
}

// ---- choices and optional arguments

#[candor::args]
enum Mode {
    Fast,
    Accurate,
    Balanced,
}

#[tool(unclassified)]
fn set_mode(mode: Mode) -> String {
    let mode = match mode {
        Mode::Fast => "fast",
        Mode::Accurate => "accurate",
        Mode::Balanced => "balanced",
    };
    format!("Mode set to {mode}")
}

#[tool(reads)]
fn find(query: String, limit: Option<i64>) -> Vec<String> {
    let _ = (query, limit);
    Vec::new()
}

#[candor::args]
struct SearchParams {
    query: String,
    #[optional]
    max_results: Option<i64>,
}

/// One struct is all of the arguments: its fields are the properties
#[tool(reads)]
fn search(params: SearchParams) -> Vec<String> {
    let _ = (params.query, params.max_results);
    Vec::new()
}

/// Analyze data with optional filters
#[tool(reads)]
async fn analyze_dataset(
    dataset: String,
    #[default(100)] limit: i64,
    filters: Option<BTreeMap<String, String>>,
) -> BTreeMap<String, i64> {
    let _ = (dataset, limit, filters);
    BTreeMap::from([("records".to_owned(), 42), ("filtered".to_owned(), 10)])
}

// ---- records

#[candor::args]
struct Address {
    street: String,
    city: String,
    postal_code: i64,
}

#[candor::args]
struct Profile {
    name: String,
    address: Address,
    tags: Vec<String>,
}

#[tool(unclassified)]
fn create_profile(name: String, street: String, city: String) -> Profile {
    let address = Address { street, city, postal_code: 94107 };
    Profile { name, address, tags: vec!["new".to_owned()] }
}

#[candor::args]
struct Location {
    latitude: f64,
    longitude: f64,
}

#[candor::args]
struct WeatherReport {
    temperature: f64,
    location: Location,
    humidity: Option<f64>,
}

#[tool(reads)]
async fn weather(city: String) -> WeatherReport {
    let _ = city;
    let location = Location { latitude: 37.7749, longitude: -122.4194 };
    WeatherReport { temperature: 72.5, location, humidity: None }
}

// ---- constraints

#[candor::args]
struct User {
    #[length(min = 3, max = 20)]
    username: String,
    #[regex(r"^[\w\.-]+@[\w\.-]+\.\w+$")]
    email: String,
    #[range(min = 0, max = 120)]
    age: i64,
}

#[tool(unclassified)]
fn register_user(user: User) -> String {
    let _ = (user.email, user.age);
    format!("Registered {}", user.username)
}

#[candor::args]
struct CreateUserRequest {
    #[length(min = 3, max = 20)]
    #[regex("^[a-zA-Z0-9_]+$")]
    username: String,
    #[email]
    email: String,
    #[range(min = 13, max = 120)]
    age: i64,
    #[length(max = 500)]
    bio: Option<String>,
}

#[tool(unclassified)]
async fn create_user(request: CreateUserRequest) -> BTreeMap<String, String> {
    let _ = (request.username, request.email, request.age, request.bio);
    let pairs = [("user_id", "usr_123"), ("status", "created")];
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

// ---- a union, and a schema by hand

#[candor::args]
#[serde(tag = "kind")]
enum UnionAction {
    Chat { message: String },
    Navigate { url: String },
}

#[tool(reads)]
fn choose_action(chat: bool) -> UnionAction {
    if chat {
        UnionAction::Chat { message: "hi".to_owned() }
    } else {
        UnionAction::Navigate { url: "https://example.com".to_owned() }
    }
}

const CUSTOM: &str = r#"{"type": "object", "properties": {"custom_field": {"type": "string", "enum": ["a", "b", "c"]}}, "required": ["custom_field"], "additionalProperties": false}"#;

/// A schema by hand is published as it is written, and enforced
#[tool(reads, input_schema = CUSTOM)]
async fn custom_tool(args: Arguments) -> String {
    args["custom_field"].as_str().unwrap_or("default").to_owned()
}

pub(crate) fn server() -> Server {
    Server::new("schemas", "1.0.0").tools(tools![
        answer,
        greet,
        analyze,
        set_mode,
        find,
        search,
        create_profile,
        register_user,
        choose_action,
        analyze_dataset,
        get_temperature,
        weather,
        create_user,
        custom_tool,
    ])
}

#[tokio::main]
async fn main() -> candor::Result<()> {
    server().run().await
}

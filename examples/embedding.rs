//! A shop's own axum app, with an MCP endpoint under `/assistant` and the console under `/admin`. `docs/embedding.md` explains it.
//!
//! Run with `cargo run --example embedding`. `SHOP_LEDGER` names the ledger, `SHOP_SECRET` the file of the secret, `SHOP_URL` the public
//! URL, and `SHOP_REPLICA` the replica.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::routing::get;
use candor::auth::http::HeaderValue;
use candor::auth::http::request::Parts;
use candor::auth::{Authenticator, Identity, Unauthorized};
use candor::console::Console;
use candor::prelude::*;
use candor::transport::http::{AllowedHosts, Http, PublicUrl, endpoint};
use candor::{BoxFuture, RunningServer, Secret, store};
use tokio::net::TcpListener;

/// The app's data. Its own handlers and the tools share it.
#[derive(Clone, Default)]
pub(crate) struct Shop {
    orders: Arc<Mutex<HashMap<String, u32>>>,
}

impl Shop {
    pub(crate) fn order(&self, item: &str, pieces: u32) -> u32 {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let ordered = orders.entry(item.to_owned()).or_default();
        *ordered += pieces;
        *ordered
    }
}

/// The claims of a caller: what the app knows besides the name.
#[derive(Clone)]
pub(crate) struct Staff {
    pub(crate) team: String,
    pub(crate) operator: bool,
}

/// The app's own credentials: each token with its owner. A real app has a table of sessions, or verifies a JWT here.
#[derive(Clone, Default)]
pub(crate) struct Logins(pub(crate) HashMap<String, (String, Staff)>);

impl Authenticator for Logins {
    fn authenticate<'a>(
        &'a self,
        request: &'a Parts,
    ) -> BoxFuture<'a, Result<Identity, Unauthorized>> {
        let header = request.headers.get("authorization").and_then(|value| value.to_str().ok());
        let known = header.and_then(|value| self.0.get(value.strip_prefix("Bearer ")?));
        let identity = known.map(|(name, staff)| {
            Identity::new(Principal::new(name.as_str())).with_claims(staff.clone())
        });
        let challenge = HeaderValue::from_static("Bearer");
        Box::pin(async move { identity.ok_or(Unauthorized { challenge }) })
    }

    fn is_operator(&self, principal: &Principal) -> bool {
        self.0.values().any(|(name, staff)| name == principal.as_str() && staff.operator)
    }
}

/// Order pieces of an item
#[tool(adds, closed_world, idempotency = required)]
async fn order(
    item: String,
    #[range(min = 1, max = 1000)] pieces: u32,
    shop: State<Shop>,
    ctx: Ctx,
) -> Result<String, ToolError> {
    match ctx.claims::<Staff>() {
        Some(staff) if staff.team == "purchasing" => {
            Ok(format!("{} of {item} are ordered", shop.order(&item, pieces)))
        }
        _ => Err(ToolError::new("Only the purchasing team orders").code("forbidden")),
    }
}

/// Settings that all replicas share, except for the name of each.
pub(crate) struct Settings {
    /// `sqlite:/var/lib/shop/ledger.db`, or `postgres://shop@db/shop` with candor's feature `postgres`.
    pub(crate) ledger: String,
    /// The lines of the secret file.
    pub(crate) secret: String,
    /// `https://shop.example`, if a proxy serves the app under this URL.
    pub(crate) public_url: Option<String>,
    pub(crate) replica: Option<String>,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

pub(crate) fn engine(
    settings: &Settings,
    shop: Shop,
    logins: Logins,
) -> Result<RunningServer, Failure> {
    let ledger = store::open(&settings.ledger, store::Options::default())?;
    let engine = Server::new("shop", "1.0.0")
        .tools(tools![order])
        .state(shop)
        .ledger(ledger)
        .secret(Secret::from_lines(&settings.secret)?)
        .instance("shop")
        .authenticator(logins)
        .build()?;
    Ok(engine)
}

/// Returns the app's own routes, and Candor's under two prefixes of the app's choice.
pub(crate) fn app(
    settings: &Settings,
    engine: &RunningServer,
    shop: Shop,
) -> Result<Router, Failure> {
    let mut http = Http::default();
    if let Some(url) = &settings.public_url {
        http.hosts = AllowedHosts::Public(PublicUrl::parse(url)?);
    }
    http.replica = settings.replica.as_deref().map(str::parse).transpose()?;
    let console = Console::of(engine.clone()).reached(&http).title("Shop").allow_execute();
    let assistant = Router::new().route("/mcp", endpoint(engine.clone(), http));
    Ok(Router::new()
        .route("/", get(|| async { "Welcome to the shop" }))
        .route("/orders", get(orders))
        .with_state(shop)
        .nest("/assistant", assistant)
        .nest_service("/admin", console.router())
        .fallback(|| async { (axum::http::StatusCode::NOT_FOUND, "The shop has no such page") }))
}

async fn orders(axum::extract::State(shop): axum::extract::State<Shop>) -> String {
    let orders = shop.orders.lock().unwrap_or_else(PoisonError::into_inner);
    orders.iter().map(|(item, pieces)| format!("{pieces} of {item}\n")).collect()
}

/// Serves until `stop` ends, and lets calls finish.
pub(crate) async fn serve(
    listener: TcpListener,
    app: Router,
    engine: RunningServer,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Failure> {
    let stopping = engine.clone();
    axum::serve(listener, app)
        .with_graceful_shutdown(async move {
            stop.await;
            stopping.stop(); // ends event streams, which would keep their connections open
        })
        .await?;
    engine.settle().await; // waits for calls whose callers are gone, and records the outcomes
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let variable = |name: &str| std::env::var(name).ok();
    let settings = Settings {
        ledger: variable("SHOP_LEDGER").unwrap_or_else(|| "memory:".to_owned()),
        secret: match variable("SHOP_SECRET") {
            Some(file) => std::fs::read_to_string(file)?,
            None => Secret::random_line(),
        },
        public_url: variable("SHOP_URL"),
        replica: variable("SHOP_REPLICA"),
    };
    let token = Secret::random_line().trim().to_owned();
    let ada = Staff { team: "purchasing".to_owned(), operator: true };
    let logins = Logins(HashMap::from([(token.clone(), ("ada".to_owned(), ada))]));

    let shop = Shop::default();
    let engine = engine(&settings, shop.clone(), logins)?;
    let app = app(&settings, &engine, shop)?;
    let stop = candor::run::stop_signal()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("http://{}, Ada's token: {token}", listener.local_addr()?);
    serve(listener, app, engine, stop).await
}

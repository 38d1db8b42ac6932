//! A folder of ten thousand files, listed: page by page through the endpoint, and by the bare calls of the standard library.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::Request;
use candor::prelude::*;
use candor::transport::http::{Http, endpoint};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower_service::Service as _;

use crate::load::Outcome;
use crate::message::modern_listing;

/// How many files there are.
const FILES: usize = 10_000;

/// How often they are listed for one figure.
const LISTINGS: u32 = 20;

/// Lists through the endpoint of a server, without a socket in between. In milliseconds for one listing.
pub async fn listed() -> Outcome<Value> {
    let folder = Folder::make()?;
    let directory = Directory::open(&folder.0)?;
    let uri = directory.uri().to_owned();
    let engine = Server::new("bench", "1.0.0").resources(directory).build()?;
    let mut app = Router::new().route("/mcp", endpoint(engine, Http::default()));
    let mut listed = 0;
    walk(&mut app, &uri, |page| {
        listed += page.concat().windows(6).filter(|w| w == br#""uri":"#).count();
    })
    .await?;
    must_be_all(listed)?;
    let start = Instant::now();
    for _ in 0..LISTINGS {
        walk(&mut app, &uri, |page| drop(black_box(page))).await?;
    }
    Ok(figure(start))
}

/// Page after page, to the last.
async fn walk(app: &mut Router, uri: &str, mut each: impl FnMut(Vec<Bytes>)) -> Outcome<()> {
    let mut cursor = None;
    loop {
        let page = ask(app, uri, cursor.as_deref()).await?;
        cursor = cursor_in(&page);
        each(page);
        if cursor.is_none() {
            return Ok(());
        }
    }
}

/// Lists by `read_dir`, and asks for the metadata of each. In milliseconds for one listing.
pub fn bare() -> Outcome<Value> {
    let folder = Folder::make()?;
    let whole = || {
        let mut listed = 0;
        for entry in fs::read_dir(&folder.0)? {
            let entry = entry?;
            black_box((entry.file_name(), entry.metadata()?.len()));
            listed += 1;
        }
        std::io::Result::Ok(listed)
    };
    must_be_all(whole()?)?;
    let start = Instant::now();
    for _ in 0..LISTINGS {
        black_box(whole()?);
    }
    Ok(figure(start))
}

fn figure(start: Instant) -> Value {
    json!({"ms": start.elapsed().as_secs_f64() * 1e3 / f64::from(LISTINGS), "files": FILES})
}

fn must_be_all(listed: usize) -> Result<(), String> {
    if listed == FILES { Ok(()) } else { Err(format!("{listed} of {FILES} files were listed")) }
}

/// A page, in the pieces in which it would go to the socket.
async fn ask(app: &mut Router, uri: &str, cursor: Option<&str>) -> Outcome<Vec<Bytes>> {
    let request = Request::post("/mcp")
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", crate::message::MODERN)
        .header("mcp-method", "resources/list")
        .body(Body::from(modern_listing(uri, cursor).to_string()))?;
    let mut body = app.call(request).await?.into_body();
    let mut pieces = Vec::new();
    while let Some(frame) = body.frame().await {
        pieces.extend(frame?.into_data());
    }
    Ok(pieces)
}

/// Where the next page begins; found, not parsed: that would be the client's work. It stands after the list.
fn cursor_in(page: &[Bytes]) -> Option<String> {
    let end = String::from_utf8_lossy(page.last()?);
    let (_, after) = end.rsplit_once(r#""nextCursor":""#)?;
    after.split('"').next().map(str::to_owned)
}

/// A folder that is gone in the end.
struct Folder(PathBuf);

impl Folder {
    fn make() -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("candor-bench-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        let folder = Self(path);
        (0..FILES).try_for_each(|n| fs::write(folder.file(n), b"hello"))?;
        Ok(folder)
    }

    fn file(&self, number: usize) -> PathBuf {
        let Self(path) = self;
        Path::new(path).join(format!("note-{number:05}.txt"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind lies where such things are cleared away.
        let _ = fs::remove_dir_all(&self.0);
    }
}

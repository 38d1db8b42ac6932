//! What browsers load besides the pages: the console's styles and scripts, as they are in the source.

use axum::response::Response;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

use crate::problem::Problem;
use crate::request::ConsoleRequest;
use crate::rest::{tag, tagged};

struct Asset {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
}

macro_rules! assets {
    ($($name:literal: $kind:literal,)*) => {
        const ALL: &[Asset] = &[$(Asset {
            name: $name,
            kind: $kind,
            text: include_str!(concat!("../../assets/", $name)),
        },)*];
    };
}

assets! {
    "approvals.js": "text/javascript; charset=utf-8",
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "elsewhere.js": "text/javascript; charset=utf-8",
    "foresight.js": "text/javascript; charset=utf-8",
    "form.js": "text/javascript; charset=utf-8",
    "result.js": "text/javascript; charset=utf-8",
    "tool.js": "text/javascript; charset=utf-8",
    "tools.js": "text/javascript; charset=utf-8",
    "tree.js": "text/javascript; charset=utf-8",
    "history.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "icon-waiting.svg": "image/svg+xml",
}

pub(crate) fn answer(asked: &ConsoleRequest, name: &str) -> Result<Response, Problem> {
    let asset = ALL.iter().find(|asset| asset.name == name).ok_or_else(Problem::no_such_path)?;
    let mut response = tagged(&asked.parts.headers, &tag(asset.text.as_bytes()), asset.text.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

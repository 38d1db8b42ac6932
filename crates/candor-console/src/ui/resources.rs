//! The page of the resource tree. The script opens it branch by branch through the API, and loads content only on demand.

use std::sync::Arc;

use axum::response::Response;

use super::shell::{self, PageParts, Section};
use crate::Inner;
use crate::html::{Html, html};
use crate::problem::Problem;
use crate::request::ConsoleRequest;
use crate::rest::engine;

pub(crate) fn page(console: &Arc<Inner>, asked: &ConsoleRequest) -> Result<Response, Problem> {
    let has_some = engine(console)?.about().capabilities.resources.is_some();
    let main = if has_some { tree() } else { none() };
    let script = has_some.then_some("tree.js");
    let page = PageParts { section: Section::Resources, title: "Resources", script, main };
    Ok(shell::page(console, asked, page))
}

fn none() -> Html {
    html!(
        "<h1>Resources</h1><div class=\"empty\" data-testid=\"no-resources\"><strong>This server has no resources.</strong>\
         Give it some with <code>.resources(…)</code>: a set of your own, or <code>Directory::open(…)</code> for a folder.</div>"
    )
}

fn tree() -> Html {
    html!(
        "<h1>Resources</h1><noscript><p>The tree needs JavaScript; <code>GET resources?uri=…</code> is the same for programs.</p></noscript>\
         <div class=\"shelf\"><div class=\"sheet\"><p class=\"soft\" id=\"tree-says\" role=\"status\" data-testid=\"tree-says\">Loading…</p>\
         <ul role=\"tree\" id=\"tree\" aria-label=\"Resources\" data-testid=\"tree\"></ul></div>\
         <section id=\"about\" aria-live=\"polite\" aria-label=\"The chosen resource\" data-testid=\"resource\" data-state=\"none\">\
         <div class=\"empty\"><strong>Choose a resource.</strong>What is known of it is shown without loading its content.</div></section></div>"
    )
}

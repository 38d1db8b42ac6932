//! `candor resources`: what there is to read, as a tree.

use std::collections::HashSet;
use std::process::ExitCode;

use candor::desk::shown::{cut, shown};
use candor_client::types::{Resource, ResourceTemplate};
use candor_client::{Client, Policy};
use serde_json::{Value, json};

use super::server::{Server, ended, result};
use super::trouble::Trouble;
use crate::out::Out;

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "candor resources TARGET [URI]\n       candor resources [URI] -- PROGRAM [ARGS]..."
)]
pub(crate) struct Args {
    /// The server; and the resource to begin with, instead of all that are listed
    #[arg(value_name = "TARGET URI")]
    words: Vec<String>,

    /// How many levels to show
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    depth: u32,

    #[command(flatten)]
    server: Server,
}

/// More is no list that a person reads.
const MOST: usize = 10_000;

pub(crate) async fn run(args: Args) -> ExitCode {
    let Args { words, depth, server } = args;
    let done = server.visit(words, Policy::default(), async |reached, rest, out| {
        let client = &reached.client;
        let (first, templates) = match &rest[..] {
            [] => (client.resources().await?, client.templates().await?),
            [uri] => match client.children(uri).await? {
                Some(children) => (children, Vec::new()),
                None => {
                    let message = format!(
                        "{} has no way to say what stands beneath a resource",
                        reached.name()
                    );
                    return Err(Trouble::new(crate::exit::Exit::Failed, "unsupported", message));
                }
            },
            [_, word, ..] => {
                return Err(Trouble::usage(format!("{} is one word too many", shown(word))));
            }
        };
        let mut tree = Tree { depth, lines: Vec::new(), seen: HashSet::new(), cut: false };
        tree.add(client, first).await?;
        tell(&tree, &templates, out)
    });
    ended(done.await, server.json)
}

struct Tree {
    depth: u32,
    lines: Vec<(u32, Resource)>,
    /// What is listed and stands beneath something else, too, is shown once; and a tree that leads back into itself has an end.
    seen: HashSet<String>,
    cut: bool,
}

impl Tree {
    /// Everything that stands beneath, down to the depth, in the order in which one reads it.
    async fn add(&mut self, client: &Client, first: Vec<Resource>) -> Result<(), Trouble> {
        let mut open: Vec<_> = first.into_iter().rev().map(|resource| (1, resource)).collect();
        while let Some((level, resource)) = open.pop() {
            if self.lines.len() == MOST {
                self.cut = true;
                return Ok(());
            }
            if !self.seen.insert(resource.uri.clone()) {
                continue;
            }
            if level < self.depth && is_folder(&resource) {
                match client.children(&resource.uri).await {
                    Ok(children) => {
                        let children = children.unwrap_or_default().into_iter().rev();
                        open.extend(children.map(|child| (level + 1, child)));
                    }
                    // One that cannot be looked into is no reason to show none.
                    Err(error) => {
                        eprintln!("{}: {}", shown(&resource.uri), shown(&error.to_string()));
                    }
                }
            }
            self.lines.push((level, resource));
        }
        Ok(())
    }
}

fn is_folder(resource: &Resource) -> bool {
    let listable = resource.capabilities.as_ref().and_then(|can| can.list);
    listable.unwrap_or(resource.mime_type.as_deref() == Some("inode/directory"))
}

fn tell(tree: &Tree, templates: &[ResourceTemplate], out: &mut Out) -> Result<(), Trouble> {
    if out.json {
        let resources: Vec<Value> = tree
            .lines
            .iter()
            .map(|(level, resource)| {
                let mut value = serde_json::to_value(resource).unwrap_or_default();
                value["depth"] = json!(level);
                value
            })
            .collect();
        return result(
            out,
            &json!({"resources": resources, "resourceTemplates": templates, "cut": tree.cut}),
        );
    }
    let lines: Vec<_> = tree
        .lines
        .iter()
        .map(|(level, resource)| {
            let indent = "  ".repeat(level.saturating_sub(1).min(20) as usize);
            let slash = if is_folder(resource) { "/" } else { "" };
            let size = resource.size.as_ref().map(ToString::to_string).unwrap_or_default();
            let kind = resource.mime_type.as_deref().unwrap_or_default();
            let name = format!("{indent}{}{slash}", cut(&resource.name, 80));
            (false, [name, cut(kind, 40), cut(&size, 20), shown(&resource.uri).to_string()])
        })
        .collect();
    if !lines.is_empty() {
        out.table(["NAME", "TYPE", "SIZE", "URI"], &lines)?;
    }
    for template in templates {
        out.line(&format!("{}  {}", shown(&template.uri_template), cut(&template.name, 80)))?;
    }
    out.flush()?;
    if lines.is_empty() && templates.is_empty() {
        eprintln!("there is nothing");
    }
    if tree.cut {
        eprintln!("cut after {MOST}: name a resource to begin with, or a smaller --depth");
    }
    Ok(())
}

//! `candor resources`: the resources of a server, as a tree.

use std::io;
use std::process::ExitCode;

use candor::operator::shown::shown;
use candor_client::types::{Resource, ResourceTemplate};
use candor_client::{Error, HostPolicy, Step, Walk, WalkStop};
use serde_json::{Value, json};

use super::error::{CliError, refused_metadata};
use super::safe;
use super::server::{Server, ended, nothing_more, result};
use crate::number;
use crate::out::Out;
use crate::targets::CommandWords;
use crate::width::cut;

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "candor resources TARGET [URI]\n       candor resources [URI] -- PROGRAM [ARGS]..."
)]
pub(crate) struct ResourcesArgs {
    /// The server; and the resource to start from, instead of all that are listed
    #[arg(value_name = "TARGET URI")]
    words: Vec<String>,

    /// How many levels to show inside what is listed, or inside URI
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::many, allow_negative_numbers = true)]
    depth: usize,

    #[command(flatten)]
    server: Server,
}

pub(crate) async fn run(args: ResourcesArgs) -> ExitCode {
    let ResourcesArgs { words, depth, server } = args;
    let one_or_none = |mut rest: Vec<String>| {
        let uri = (!rest.is_empty()).then(|| rest.remove(0));
        nothing_more(&rest).map(|()| uri)
    };
    let words = (words, CommandWords::Uris);
    let done =
        server.visit(words, HostPolicy::default(), one_or_none, async |reached, uri, out| {
            let client = &reached.client;
            let (walk, templates) = match &uri {
                None => (client.walk_all(), client.templates().await?),
                Some(uri) => (client.walk(uri), Vec::new()),
            };
            let mut walk = walk.depth(depth);
            let steps = steps(&mut walk).await.map_err(|error| match (&uri, &error) {
                (Some(_), Error::Server(_)) => CliError::from(error).next(
                    "list its resources with `candor resources` and the same server, without a URI",
                ),
                _ => error.into(),
            })?;
            if let (Some(uri), Some(refused)) = (&uri, walk.refused_metadata()) {
                eprintln!("{}", refused_metadata(uri, refused.clone()));
            }
            tell(&steps, &templates, walk.stopped(), out)
        });
    ended(done.await, server.json)
}

async fn steps(walk: &mut Walk) -> Result<Vec<Step>, Error> {
    let mut steps = Vec::new();
    let mut bytes = 0;
    while let Some(step) = walk.next().await {
        match step {
            Ok(step) => {
                bytes += size(&step.resource);
                if bytes > MOST_BYTES {
                    let what = "the list of resources".to_owned();
                    return Err(Error::TooLarge { what, limit: MOST_BYTES });
                }
                steps.push(step);
            }
            Err(failed) if steps.is_empty() || matches!(failed.error, Error::TooLarge { .. }) => {
                return Err(failed.error);
            }
            // One resource that cannot be listed must not hide the others.
            Err(failed) => {
                let uri = failed.uri.as_deref().map(|uri| format!("{}: ", safe::quote(uri)));
                let reason = CliError::from(failed.error).in_one_line();
                eprintln!("not shown: {}{reason}", uri.unwrap_or_default());
            }
        }
    }
    Ok(steps)
}

/// The maximum size of the list in bytes. All of it is in memory, because it is shown at once.
const MOST_BYTES: usize = 32_000_000;

/// Returns the size of a resource as JSON, in bytes.
fn size(resource: &Resource) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    let _ = serde_json::to_writer(&mut count, resource);
    count.0
}

fn is_folder(resource: &Resource) -> bool {
    let listable = resource.capabilities.as_ref().and_then(|can| can.list);
    listable.unwrap_or(resource.mime_type.as_deref() == Some("inode/directory"))
}

fn tell(
    steps: &[Step],
    templates: &[ResourceTemplate],
    stopped: Option<WalkStop>,
    out: &mut Out,
) -> Result<(), CliError> {
    // A stop at the requested depth is not a cut.
    let cut_off = matches!(stopped, Some(WalkStop::Count | WalkStop::Time));
    if out.json {
        let with_depth = |step: &Step| {
            let mut value = serde_json::to_value(&step.resource).unwrap_or_default();
            value["depth"] = json!(step.depth);
            value
        };
        let resources: Value = steps.iter().map(with_depth).collect();
        let all = json!({"resources": resources, "resourceTemplates": templates, "cut": cut_off});
        return result(out, &all);
    }
    let lines: Vec<_> = steps
        .iter()
        .map(|Step { resource, depth, .. }| {
            let slash = if is_folder(resource) && !resource.name.ends_with('/') { "/" } else { "" };
            let name =
                format!("{}{}{slash}", "  ".repeat((*depth).min(20)), cut(&resource.name, 80));
            let kind = resource.mime_type.as_deref().unwrap_or_default();
            let size = resource.size.as_ref().map(ToString::to_string).unwrap_or_default();
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
    if cut_off {
        eprintln!("this is not all: name a resource to start from, or a smaller --depth");
    }
    Ok(())
}

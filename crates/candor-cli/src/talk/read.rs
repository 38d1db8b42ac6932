//! `candor read`: the content of a resource.

use std::process::ExitCode;

use candor::desk::shown::shown;
use candor_client::types::{Resource, ResourceContents};
use candor_client::{Contents, Error, Policy, bytes_of};
use serde_json::json;

use super::safe;
use super::server::{Server, ended, result};
use super::trouble::Trouble;
use crate::exit::Exit;
use crate::out::Out;
use crate::reach::Own;

#[derive(Debug, clap::Args)]
#[command(override_usage = "candor read TARGET URI\n       candor read URI -- PROGRAM [ARGS]...")]
pub(crate) struct Args {
    /// The server and the resource
    #[arg(value_name = "TARGET URI")]
    words: Vec<String>,

    /// Which form of it, if there are several: a type such as text/plain, or text/*
    #[arg(long = "type", value_name = "MIME", value_parser = mime)]
    kind: Option<String>,

    /// What it is, without its content
    #[arg(long, conflicts_with = "kind")]
    metadata: bool,

    #[command(flatten)]
    server: Server,
}

fn mime(text: &str) -> Result<String, &'static str> {
    match text.split_once('/') {
        Some((kind, form)) if !kind.is_empty() && !form.is_empty() => Ok(text.to_owned()),
        _ => Err("write a type such as text/plain, or text/*"),
    }
}

pub(crate) async fn run(args: Args) -> ExitCode {
    let Args { words, kind, metadata, server } = args;
    let one = |rest: Vec<String>| match <[String; 1]>::try_from(rest) {
        Ok([uri]) => Ok(uri),
        Err(_) => {
            Err(Trouble::usage("which resource? Name one URI; `candor resources` lists them"))
        }
    };
    let words = (words, Own::Uris);
    let done = server.visit(words, Policy::default(), one, async |reached, uri, out| {
        if metadata {
            return tell_metadata(&reached.client.metadata(&uri).await?, out);
        }
        let contents = reached.client.read(&uri).await.map_err(|error| match error {
            Error::Server(_) => Trouble::from(error)
                .next("`candor resources` and the same server lists what there is"),
            _ => error.into(),
        })?;
        let wanted = match &kind {
            Some(kind) => Some(contents.format(kind).ok_or_else(|| no_such_type(kind, &contents))?),
            None => None,
        };
        if out.json {
            return match wanted {
                Some(wanted) => result(out, &json!({"contents": [wanted]})),
                None => result(out, &json!({"contents": contents.all()})),
            };
        }
        match wanted.or_else(|| contents.preferred(&["text/*"])) {
            Some(content) => pour(content, out),
            None => Err(Trouble::new(Exit::Failed, "empty", "the server sent no content")),
        }
    });
    ended(done.await, server.json)
}

/// To a file or a program as it is; to a person only what a terminal takes.
fn pour(content: &ResourceContents, out: &mut Out) -> Result<(), Trouble> {
    let bytes = bytes_of(content)?;
    if !out.terminal {
        out.bytes(&bytes)?;
        return Ok(());
    }
    let text = std::str::from_utf8(&bytes).ok().filter(|text| !text.contains('\0'));
    let Some(text) = text else {
        let kind = content.mime_type.as_deref().unwrap_or("no type");
        let message =
            format!("{} bytes of {}, which is nothing for a terminal", bytes.len(), shown(kind));
        return Err(Trouble::new(Exit::Failed, "binary", message)
            .next("write them to a file: candor read … > FILE"));
    };
    out.line(&safe::text(text))?;
    Ok(())
}

fn no_such_type(kind: &str, contents: &Contents) -> Trouble {
    let types = contents.formats().into_iter().map(|content| content.mime_type.as_deref());
    let types: Vec<_> = types.map(|kind| safe::quote(kind.unwrap_or("(no type)"))).collect();
    let message = format!("there is no {} of it; there is {}", shown(kind), types.join(", "));
    Trouble::new(Exit::Failed, "no_such_type", message)
}

fn tell_metadata(resource: &Resource, out: &mut Out) -> Result<(), Trouble> {
    if out.json {
        return result(out, resource);
    }
    let mut fact = |name: &str, value: Option<String>| match value {
        Some(value) => out.line(&format!("{name:<12} {}", safe::line(&value.replace('\n', " ")))),
        None => Ok(()),
    };
    fact("uri", Some(resource.uri.clone()))?;
    fact("name", Some(resource.name.clone()))?;
    fact("title", resource.title.clone())?;
    fact("description", resource.description.clone())?;
    fact("type", resource.mime_type.clone())?;
    fact("size", resource.size.as_ref().map(ToString::to_string))?;
    let annotations = resource.annotations.as_ref().and_then(|a| serde_json::to_string(a).ok());
    fact("annotations", annotations)?;
    let can = resource.capabilities.as_ref().and_then(|can| serde_json::to_string(can).ok());
    fact("can", can)?;
    Ok(())
}

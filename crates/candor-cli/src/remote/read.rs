//! `candor read`: the content of a resource.

use std::process::ExitCode;

use candor::operator::shown::shown;
use candor_client::types::{Resource, ResourceContents};
use candor_client::{Contents, Error, HostPolicy, ResourceDescription, bytes_of, is_same_uri};
use serde_json::json;

use super::error::{CliError, refused_metadata};
use super::safe;
use super::server::{Server, ended, result};
use crate::exit::Exit;
use crate::out::Out;
use crate::targets::CommandWords;

#[derive(Debug, clap::Args)]
#[command(override_usage = "candor read TARGET URI\n       candor read URI -- PROGRAM [ARGS]...")]
pub(crate) struct ReadArgs {
    /// The server and the resource
    #[arg(value_name = "TARGET URI")]
    words: Vec<String>,

    /// Which format, if there are several: a type such as text/plain, or text/*
    #[arg(long = "type", value_name = "MIME", value_parser = mime)]
    kind: Option<String>,

    /// Show the resource's metadata, without its content
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

pub(crate) async fn run(args: ReadArgs) -> ExitCode {
    let ReadArgs { words, kind, metadata, server } = args;
    let one = |rest: Vec<String>| match <[String; 1]>::try_from(rest) {
        Ok([uri]) => Ok(uri),
        Err(_) => {
            Err(CliError::usage("which resource? Name one URI; `candor resources` lists them"))
        }
    };
    let words = (words, CommandWords::Uris);
    let done = server.visit(words, HostPolicy::default(), one, async |reached, uri, out| {
        if metadata {
            let ResourceDescription { resource, refused, read, .. } =
                reached.client.describe(&uri).await?;
            if let Some(refused) = refused {
                eprintln!("{}", refused_metadata(&uri, refused));
            }
            if let Some(read) = read {
                tell_others(&read.all().iter().collect::<Vec<_>>(), &uri);
            }
            if !is_same_uri(&resource.uri, &uri) {
                let (other, uri) = (safe::quote(&resource.uri), safe::quote(&uri));
                eprintln!("the server describes {other}, another URI than the requested {uri}");
            }
            return tell_metadata(&resource, out);
        }
        let contents = reached.client.read(&uri).await.map_err(|error| match error {
            Error::Server(_) => CliError::from(error)
                .next("list its resources with `candor resources` and the same server"),
            _ => error.into(),
        })?;
        if contents.all().is_empty() {
            return Err(CliError::new(Exit::Failed, "empty", "the server sent no content"));
        }
        let wanted = match &kind {
            Some(kind) => Some(contents.format(kind).ok_or_else(|| no_such_type(kind, &contents))?),
            None => None,
        };
        let told: Vec<_> = match wanted {
            Some(wanted) => vec![wanted],
            None => contents.all().iter().collect(),
        };
        let others: Vec<_> =
            told.iter().filter(|content| !is_same_uri(&content.uri, &uri)).collect();
        if out.json {
            let mut all = json!({"requestedUri": uri, "contents": told});
            if !others.is_empty() {
                all["otherUris"] = others.iter().map(|content| content.uri.as_str()).collect();
            }
            return result(out, &all);
        }
        let mut unreadable = 0;
        let shown = match &told[..] {
            [content] => pour(content, out),
            several => several.iter().try_for_each(|content| match bytes_of(content) {
                Ok(bytes) => show(content, &bytes, is_same_uri(&content.uri, &uri), out),
                Err(error) => {
                    eprintln!("not shown: {}", unread(content, error).in_one_line());
                    unreadable += 1;
                    Ok(())
                }
            }),
        };
        out.flush()?;
        tell_others(&told, &uri);
        shown?;
        match unreadable {
            0 => Ok(()),
            _ => {
                let message = format!("{unreadable} of {} contents cannot be read", told.len());
                Err(CliError::new(Exit::Failed, "protocol", message).next("--json shows all"))
            }
        }
    });
    ended(done.await, server.json)
}

/// Reports how many of the contents have another URI than the requested one.
fn tell_others(contents: &[&ResourceContents], uri: &str) {
    let others = contents.iter().filter(|content| !is_same_uri(&content.uri, uri)).count();
    if others > 0 {
        let (all, uri) = (contents.len(), safe::quote(uri));
        eprintln!("{others} of {all} contents have another URI than the requested {uri}");
    }
}

/// Returns the line above a content: its URI, its format and its size.
fn head(content: &ResourceContents, bytes: usize) -> String {
    let kind = content.mime_type.as_deref().unwrap_or("(no type)");
    format!("{}  {}  {bytes} bytes", safe::line(&content.uri), safe::line(kind))
}

/// Returns the error for a content that cannot be read, with its URI.
fn unread(content: &ResourceContents, error: Error) -> CliError {
    let (uri, reason) = (safe::line(&content.uri), CliError::from(error).in_one_line());
    CliError::new(Exit::Failed, "protocol", format!("{uri}: {reason}"))
}

/// Returns the text of a content, if a terminal can show it.
fn text_of(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// Shows one content of several: what it is, then its text. Each row is marked, so that no text passes for the next content.
/// `is_own`: it has the requested URI, and `--type` finds it.
fn show(
    content: &ResourceContents,
    bytes: &[u8],
    is_own: bool,
    out: &mut Out,
) -> Result<(), CliError> {
    out.line(&head(content, bytes.len()))?;
    match text_of(bytes) {
        Some(text) => out.line(&safe::quoted(text))?,
        None if is_own => {
            out.line("  (binary: --type writes one format to a file, --json has all)")?;
        }
        None => out.line(
            "  (binary: `candor read TARGET` with this URI writes it to a file, --json has all)",
        )?,
    }
    Ok(())
}

/// Writes one content: to a file or a program as it is, to a terminal only if it is text.
fn pour(content: &ResourceContents, out: &mut Out) -> Result<(), CliError> {
    let bytes = bytes_of(content).map_err(|error| unread(content, error))?;
    eprintln!("{}", head(content, bytes.len()));
    if !out.terminal {
        out.bytes(&bytes)?;
        return Ok(());
    }
    let Some(text) = text_of(&bytes) else {
        let kind = content.mime_type.as_deref().unwrap_or("no type");
        let message =
            format!("{} bytes of {}, which a terminal cannot show", bytes.len(), shown(kind));
        return Err(CliError::new(Exit::Failed, "binary", message)
            .next("write them to a file: candor read … > FILE"));
    };
    out.line(&safe::text(text))?;
    Ok(())
}

fn no_such_type(kind: &str, contents: &Contents) -> CliError {
    let types = contents.formats().into_iter().map(|content| content.mime_type.as_deref());
    let types: Vec<_> = types.map(|kind| safe::quote(kind.unwrap_or("(no type)"))).collect();
    let message = format!("it has no {}; it has {}", shown(kind), types.join(", "));
    let trouble = CliError::new(Exit::Failed, "no_such_type", message);
    match contents.others().is_empty() {
        true => trouble,
        false => {
            trouble.next("--type ignores contents with another URI: use `candor read` and that URI")
        }
    }
}

fn tell_metadata(resource: &Resource, out: &mut Out) -> Result<(), CliError> {
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

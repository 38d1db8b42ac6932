//! `candor watch`: what changes, a line each, until Ctrl-C.

use std::process::ExitCode;

use candor::desk::shown::shown;
use candor::desk::when;
use candor_client::{Change, Interest, Policy};
use serde_json::json;

use super::server::{Server, ended, result};
use crate::reach::Own;

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "candor watch TARGET [URI]...\n       candor watch [URI]... -- PROGRAM [ARGS]..."
)]
pub(crate) struct Args {
    /// The server; and the resources to watch, instead of the lists of tools, prompts and resources
    #[arg(value_name = "TARGET URI")]
    words: Vec<String>,

    #[command(flatten)]
    server: Server,
}

pub(crate) async fn run(args: Args) -> ExitCode {
    let Args { words, server } = args;
    let words = (words, Own::Uris);
    let done = server.visit(words, Policy::default(), Ok, async |reached, rest: Vec<_>, out| {
        let lists = rest.is_empty();
        let interest = rest.iter().fold(Interest::new(), Interest::resource);
        let interest = if lists { interest.lists() } else { interest };
        let mut listening = reached.client.listen(interest).await?;
        let what = if lists { "the lists".to_owned() } else { format!("{} resources", rest.len()) };
        eprintln!("Watching {what} of {}; Ctrl-C ends.", reached.name());
        loop {
            let change = listening.next().await;
            let (word, uri) = match &change {
                Change::Tools => ("tools", None),
                Change::Prompts => ("prompts", None),
                Change::Resources => ("resources", None),
                Change::Resource(uri) => ("resource", Some(uri)),
                // Whatever happened in between was missed.
                Change::Resumed => ("resumed", None),
                _ => continue,
            };
            if out.json {
                result(out, &json!({"change": word, "uri": uri}))?;
            } else {
                let uri = uri.map(|uri| format!("  {}", shown(uri))).unwrap_or_default();
                out.line(&format!("{}  {word}{uri}", when::written(when::now())))?;
            }
            out.flush()?;
        }
    });
    match done.await {
        // That is how it ends.
        Err(trouble) if trouble.is_interrupted() => ExitCode::SUCCESS,
        done => ended(done, server.json),
    }
}

//! `candor watch`: prints changes on a server, one per line, until Ctrl-C.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::thread;

use candor::operator::json;
use candor::operator::shown::shown;
use candor::operator::when;
use candor_client::{Change, HostPolicy, Interest};
use serde_json::json;
use tokio::sync::mpsc;

use super::server::{Server, ended};
use crate::targets::CommandWords;

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "candor watch TARGET [URI]...\n       candor watch [URI]... -- PROGRAM [ARGS]..."
)]
pub(crate) struct WatchArgs {
    /// The server; and the resources to watch, instead of the lists of tools, prompts and resources
    #[arg(value_name = "TARGET URI")]
    words: Vec<String>,

    #[command(flatten)]
    server: Server,
}

pub(crate) async fn run(args: WatchArgs) -> ExitCode {
    let WatchArgs { words, server } = args;
    let words = (words, CommandWords::Uris);
    let done =
        server.visit(words, HostPolicy::default(), Ok, async |reached, rest: Vec<_>, out| {
            let lists = rest.is_empty();
            let interest = rest.iter().fold(Interest::new(), Interest::resource);
            let interest = if lists { interest.lists() } else { interest };
            let mut listening = reached.client.listen(interest).await?;
            let what =
                if lists { "the lists".to_owned() } else { format!("{} resources", rest.len()) };
            eprintln!("Watching {what} of {}; press Ctrl-C to stop.", reached.name());
            let mut lines = Lines::start();
            loop {
                let change = listening.next().await;
                let (word, uri) = match &change {
                    Change::Tools => ("tools", None),
                    Change::Prompts => ("prompts", None),
                    Change::Resources => ("resources", None),
                    Change::Resource(uri) => ("resource", Some(uri)),
                    // Changes while the connection was down were missed.
                    Change::Resumed => ("resumed", None),
                    Change::Missed => ("missed", None),
                    _ => continue,
                };
                if change == Change::Missed && !out.json {
                    eprintln!(
                        "missed: the server sends changes faster than this command reads them"
                    );
                }
                let line = if out.json {
                    json::compact(&json!({"result": {"change": word, "uri": uri}}).to_string())
                } else {
                    let uri = uri.map(|uri| format!("  {}", shown(uri))).unwrap_or_default();
                    format!("{}  {word}{uri}", when::written(when::now()))
                };
                lines.write(line).await?;
            }
        });
    match done.await {
        // Ctrl-C is the normal end.
        Err(trouble) if trouble.is_interrupted() => ExitCode::SUCCESS,
        done => ended(done, server.json),
    }
}

/// Writes lines to stdout in a thread: a full pipe blocks the thread, and Ctrl-C is still heard.
struct Lines {
    lines: std::sync::mpsc::Sender<String>,
    written: mpsc::UnboundedReceiver<io::Result<()>>,
}

impl Lines {
    fn start() -> Self {
        let (lines, queue) = std::sync::mpsc::channel::<String>();
        let (tell, written) = mpsc::unbounded_channel();
        // Not a runtime task: the runtime would wait for it on shutdown.
        thread::spawn(move || {
            for line in queue {
                let mut stdout = io::stdout().lock();
                let done = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
                if tell.send(done).is_err() {
                    return;
                }
            }
        });
        Self { lines, written }
    }

    /// Writes a line and waits until it is written, so the queue holds at most one.
    async fn write(&mut self, line: String) -> io::Result<()> {
        let _ = self.lines.send(line);
        self.written.recv().await.unwrap_or_else(|| Err(io::ErrorKind::BrokenPipe.into()))
    }
}

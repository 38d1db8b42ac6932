//! `cargo xtask clients`: runs the clients of the official SDKs against the example servers.
//!
//! Each client runs its stories, such as `clients/story.json`, in every era that it speaks. Over stdio, it starts a
//! server of its own. Over HTTP, all share one. A client checks by itself. This module installs it, starts it, limits
//! its time, and counts its lines.
//!
//! | file | subject |
//! |---|---|
//! | `story` | the stories, and the server of each |
//! | `sdk` | the SDKs, and how to start each client |
//! | `install` | the pinned packages of npm and PyPI |
//! | `run` | one client in one era over one transport |

mod install;
mod run;
mod sdk;
mod story;

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::example_server::{self, Server};
use crate::process::{self, Outcome};
use crate::workspace::Workspace;
use run::{Run, Transport};
use sdk::{SDKS, Sdk};
use story::{Program, STORIES, Story};

/// Which clients to run. The default: all.
#[derive(Default)]
pub(crate) struct Selection {
    only: Option<&'static Sdk>,
}

impl Selection {
    pub(crate) fn from_options(options: &[&str]) -> Outcome<Self> {
        match options {
            [] => Ok(Self::default()),
            ["--only", name] => {
                let known = SDKS.iter().find(|sdk| sdk.name == *name);
                let names = SDKS.each_ref().map(|sdk| sdk.name).join(", ");
                let unknown = || format!("`{name}` is no official client; there are {names}");
                Ok(Self { only: Some(known.ok_or_else(unknown)?) })
            }
            [option, ..] => Err(format!("clients has no option `{option}`, or it needs a value")),
        }
    }
}

pub(crate) fn run(at: &Workspace, selection: &Selection) -> Outcome {
    let mut failed = Vec::new();
    for story in STORIES {
        let chosen = |sdk: &&Sdk| selection.only.is_none_or(|only| only.name == sdk.name);
        let sdks: Vec<&Sdk> = SDKS.iter().filter(chosen).filter(|sdk| sdk.tells(story)).collect();
        if !sdks.is_empty() {
            failed.extend(tell(at, story, &sdks)?);
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!(
        "Not understood by official clients: {}. To repeat one of them alone:\n\n    \
         cargo xtask clients --only NAME\n",
        failed.join(", ")
    ))
}

/// Runs the story with the SDKs. Returns the names of the failed runs.
fn tell(at: &Workspace, story: &Story, sdks: &[&Sdk]) -> Outcome<Vec<String>> {
    let place = at.target.join("clients");
    let program = match story.program {
        Program::Example(example) => {
            let what = format!("example server {example} (debug build)");
            process::timed(&what, || example_server::build(at, example))?
        }
        Program::Files => {
            process::timed("candor (debug build)", || example_server::build_candor(at))?
        }
    };
    let options = options(story, &place)?;
    let mut stage =
        Stage { program: &program, options: &options, place: &place, server: None, checks: None };

    let mut failed = Vec::new();
    for sdk in sdks {
        let client = (sdk.ready)(at, &place)?;
        for era in sdk.eras {
            for transport in [Transport::Stdio, Transport::Http] {
                let run = Run {
                    story,
                    sdk: sdk.name,
                    era,
                    transport,
                    client: &client,
                    options: &options,
                };
                if let Err(message) = stage.play(&run) {
                    println!("{message}");
                    failed.push(run.name());
                }
            }
        }
    }
    if failed.is_empty() {
        stage.dismiss_server()?;
    }
    Ok(failed)
}

/// Returns the options of a story's server: its folder, if it has one, and its ledger. Creates both anew.
fn options(story: &Story, place: &Path) -> Outcome<Vec<OsString>> {
    let mut options = Vec::new();
    if story.in_folder {
        let folder = anew(&place.join("folders").join(story.name))?;
        if let Program::Files = story.program {
            fs::create_dir(folder.join("drafts"))
                .and_then(|()| fs::write(folder.join("note.txt"), "Buy milk.\nCall Ada.\n"))
                .map_err(|e| format!("cannot write into {}: {e}", folder.display()))?;
            options.push("files".into());
        } else {
            options.push("--root".into());
        }
        options.push(folder.into());
    }
    if story.asks {
        let mut ledger = OsString::from("sqlite:");
        ledger.push(anew(&place.join("ledgers").join(story.name))?.join("ledger.db"));
        options.extend(["--ask".into(), "destructive".into(), "--ledger".into(), ledger]);
        // The server asks the caller's own client only if the caller is not anonymous. Over HTTP, that needs a token.
        let tokens = place.join("tokens");
        fs::write(&tokens, run::TOKEN_LINE).map_err(|e| format!("cannot write tokens: {e}"))?;
        options.extend(["--tokens".into(), tokens.into()]);
    }
    Ok(options)
}

/// Creates the folder, empty.
fn anew(folder: &Path) -> Outcome<PathBuf> {
    let made = match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => fs::create_dir_all(folder),
    };
    made.map_err(|e| format!("cannot make {} anew: {e}", folder.display()))?;
    Ok(folder.to_owned())
}

/// The state that the runs of a story share.
struct Stage<'a> {
    program: &'a Path,
    options: &'a [OsString],
    place: &'a Path,
    /// The server of all HTTP runs. The first of them starts it.
    server: Option<Server>,
    /// The checks of the first run that passed. All clients must run the same checks.
    checks: Option<Vec<String>>,
}

impl Stage<'_> {
    /// Runs one client. Prints `── everything, rust, modern era, http … 40 checks in 1.6 s`, the first half before the run.
    fn play(&mut self, run: &Run<'_>) -> Outcome {
        let place = match run.transport {
            Transport::Stdio => self.program.display().to_string(),
            Transport::Http => self.server(run)?.url(),
        };
        print!("── {}, {}, {} era, {} … ", run.story.name, run.sdk, run.era, run.transport);
        io::stdout().flush().ok();
        let start = Instant::now();
        let mut outcome = run.go(&place, self.place).and_then(|checks| self.compare(&checks));
        let seconds = start.elapsed().as_secs_f64();
        match &outcome {
            Ok(count) => println!("{count} checks in {seconds:.1} s"),
            Err(_) => println!("failed after {seconds:.1} s"),
        }
        if let (Err(message), Transport::Http) = (&mut outcome, run.transport) {
            // The failed run may have left the server in any state, so the next client gets a new one.
            if let Err(crash) = self.dismiss_server() {
                message.push_str(&format!("\nAnd {crash}"));
            }
        }
        outcome.map(|_| ())
    }

    fn server(&mut self, run: &Run<'_>) -> Outcome<&Server> {
        if self.server.is_none() {
            let log = self.place.join(format!("server-from-{}.log", run.name()));
            self.server = Some(Server::start(self.program, self.options, &log)?);
        }
        Ok(self.server.as_ref().expect("it was started just now"))
    }

    /// Stops the server. Fails if it ended before.
    fn dismiss_server(&mut self) -> Outcome {
        self.server.take().map_or(Ok(()), |mut server| server.must_still_run())
    }

    fn compare(&mut self, checks: &[String]) -> Outcome<usize> {
        if checks.is_empty() {
            return Err("It has checked nothing.".to_owned());
        }
        let first = self.checks.get_or_insert_with(|| checks.to_vec());
        if first != checks {
            return Err(format!(
                "It does not check what the clients before it check; compare the logs in {}.",
                self.place.display()
            ));
        }
        Ok(checks.len())
    }
}

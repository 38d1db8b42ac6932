//! `cargo xtask browser`: tests the pages of the web console in a real browser, against the real programs.
//!
//! The journeys are in `browser/journeys`, one subject each. Node runs them. This file prepares what they need:
//! Chromium, two pinned packages, the programs, and a time limit. With `--screenshots`, it takes the pictures of the
//! README instead.

use std::env;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::apt;
use crate::npm::{self, Package};
use crate::process::{self, Outcome};
use crate::workspace::Workspace;

/// The browser's driver, and the checker for accessibility. Neither needs any other package.
const PACKAGES: [Package; 2] = [
    Package { name: "playwright-core", version: "1.64.1" },
    Package { name: "axe-core", version: "4.14.0" },
];

const OLDEST_NODE: u32 = 20;

/// The names of the browser on Debian and other systems.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The journeys end by themselves before this. The limit is for a Node process that hangs.
const PATIENCE: Duration = Duration::from_secs(290);

/// How long Node may take to stop its servers after SIGTERM.
const LAST_MOMENT: Duration = Duration::from_secs(5);

/// The folder of the README's pictures.
const IMAGES: &str = "docs/images";

/// What to do in the browser. The default: all journeys.
#[derive(Default)]
pub(crate) struct Selection {
    screenshots: bool,
    journeys: Vec<String>,
}

impl Selection {
    pub(crate) fn from_options(options: &[&str]) -> Outcome<Self> {
        match options {
            ["--screenshots"] => Ok(Self { screenshots: true, journeys: Vec::new() }),
            names if names.iter().all(|name| !name.starts_with('-')) => {
                let journeys = names.iter().map(|name| (*name).to_owned()).collect();
                Ok(Self { screenshots: false, journeys })
            }
            _ => Err(format!("browser has no option like `{}`", options.join(" "))),
        }
    }

    /// Returns the arguments of the script.
    fn arguments(&self) -> Vec<String> {
        if self.screenshots {
            return vec!["--screenshots".to_owned(), IMAGES.to_owned()];
        }
        self.journeys.clone()
    }
}

pub(crate) fn run(at: &Workspace, selection: &Selection) -> Outcome {
    let place = at.target.join("browser");
    let chromium = chromium(at)?;
    let node = npm::ensure("the browser's driver", &PACKAGES, OLDEST_NODE, &place)?;
    process::timed("console, example servers (debug build)", || build(at))?;
    let scripts = place.join("scripts");
    npm::copy_scripts(Path::new("browser"), &scripts)?;
    let mut journeys = Command::new(node);
    journeys
        .arg(scripts.join("run.mjs"))
        .args(selection.arguments())
        .env("CANDOR_PROGRAMS", at.target.join("debug"))
        .env("CANDOR_CHROMIUM", chromium)
        .env("CANDOR_PLACE", &place);
    let begun = Instant::now();
    println!("── journeys in a browser");
    let good = play(&mut journeys, &at.log("browser"))?;
    println!("   {:.0} s", begun.elapsed().as_secs_f64());
    if good {
        return Ok(());
    }
    Err("Not every journey ended well. To repeat one of them alone:\n\n    cargo xtask browser NAME\n"
        .to_owned())
}

/// Builds the programs with the features of the whole workspace, so that cargo reuses the build of the tests.
fn build(at: &Workspace) -> Outcome {
    let mut build = Command::new("cargo");
    build.args(["build", "--workspace", "--all-features", "--bin", "candor"]);
    build.args(["--example", "invoices", "--example", "tree", "--example", "trial"]);
    process::quietly(&mut build, &at.log("browser-build"))
}

fn chromium(at: &Workspace) -> Outcome<PathBuf> {
    if let Some(found) = installed() {
        return Ok(found);
    }
    process::timed("Chromium (apt-get install, the first time only)", || {
        apt::install(at, "chromium", missing)?;
        installed().ok_or_else(|| missing("its package has no `chromium` on the PATH"))
    })
}

fn installed() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let mut all =
        BROWSERS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.find(|program| program.is_file())
}

fn missing(why: &str) -> String {
    format!(
        "The pages are tested in Chromium: {why}. Install it (on Debian the package `chromium`), and put it on the PATH."
    )
}

/// Runs the journeys and prints their lines as they arrive. Returns true if all passed.
fn play(journeys: &mut Command, log: &Path) -> Outcome<bool> {
    let errors =
        process::create(log).map_err(|e| format!("cannot write {}: {e}", log.display()))?;
    journeys.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
    let mut child = journeys.spawn().map_err(|e| process::not_started(journeys, &e))?;
    let lines = child.stdout.take().map(lines_of).ok_or("the journeys have no stdout")?;
    let end = Instant::now() + PATIENCE;
    loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => println!("   {line}"),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                stop(&mut child);
                return Err(format!("the journeys took more than {} s", PATIENCE.as_secs()));
            }
        }
    }
    let status = child.wait().map_err(|e| format!("cannot wait for the journeys: {e}"))?;
    let said = process::end_of(log);
    if !status.success() && !said.is_empty() {
        println!("{said}");
    }
    Ok(status.success())
}

fn lines_of(stdout: ChildStdout) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Sends SIGTERM first, so that the process can end the servers and the browser that it started.
fn stop(child: &mut Child) {
    let told = Command::new("kill").arg(child.id().to_string()).status();
    let end = Instant::now() + LAST_MOMENT;
    while told.is_ok() && Instant::now() < end && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(Duration::from_millis(20));
    }
    // Both fail only if the child has already ended.
    child.kill().ok();
    child.wait().ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browser_options_select_journeys_and_screenshots() {
        let arguments =
            |options: &[&str]| Selection::from_options(options).map(|chosen| chosen.arguments());

        assert_eq!(arguments(&[]), Ok(Vec::new()));
        assert_eq!(arguments(&["narrow", "files"]), Ok(vec!["narrow".into(), "files".into()]));
        assert_eq!(arguments(&["--screenshots"]), Ok(vec!["--screenshots".into(), IMAGES.into()]));
        assert!(arguments(&["--headed"]).is_err());
    }
}

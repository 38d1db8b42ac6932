//! `cargo xtask conformance`: the official MCP conformance suite against the example server.
//!
//! Install the suite, build and start the server, run each revision's requirement set, judge
//! the files the suite wrote. There is no list of expected failures, and must not be one.
//!
//! | file | subject |
//! |---|---|
//! | `install` | the pinned suite and a Node that can run it |
//! | `requirements` | which scenarios a revision demands |
//! | `results` | what the suite wrote, read back |
//! | `report` | the verdict on it |

mod install;
mod report;
mod requirements;
mod results;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::ExitStatus;
use std::rc::Rc;

use crate::example_server::{self, Server};
use crate::process::{self, Outcome};
use crate::workspace::Workspace;
use install::Suite;
use report::Report;
use requirements::{REVISIONS, Requirements, Revision};
use results::Results;

const NOT_CONFORMING: &str = "\
The server does not conform. To repeat this alone, or one scenario with its checks in full:

    cargo xtask conformance
    cargo xtask conformance --scenario NAME
";

/// Which part of the suite to run; the default is all of it.
#[derive(Default)]
pub(crate) struct Selection {
    revision: Option<&'static Revision>,
    scenario: Option<String>,
}

impl Selection {
    pub(crate) fn from_options(options: &[&str]) -> Outcome<Self> {
        let mut selection = Self::default();
        let (pairs, rest) = options.as_chunks::<2>();
        for [option, value] in pairs {
            match *option {
                "--requirements" => {
                    let known = REVISIONS.iter().find(|revision| revision.name == *value);
                    let unknown = || format!("`{value}` is no revision that the suite covers");
                    selection.revision = Some(known.ok_or_else(unknown)?);
                }
                "--scenario" => selection.scenario = Some((*value).to_owned()),
                _ => return Err(format!("conformance has no option `{option}`")),
            }
        }
        match rest {
            [] => Ok(selection),
            [option, ..] => Err(format!("`{option}` needs a value, or is no option")),
        }
    }
}

/// One run of the suite at one revision's wire.
struct Run {
    revision: &'static Revision,
    requirements: Rc<Requirements>,
    /// One scenario instead of the whole requirement set.
    scenario: Option<String>,
}

pub(crate) fn run(at: &Workspace, selection: &Selection) -> Outcome {
    let place = at.target.join("conformance");
    let suite = install::ensure(&place)?;
    let runs = plan(&suite, selection)?;
    let program =
        process::timed("example server (debug build)", || example_server::build(at, "everything"))?;
    let mut server = Server::start(&program, &[], &place.join("server.log"))?;

    let mut good = true;
    for run in &runs {
        good &= run.judge(&suite, &server, &place)?;
    }
    server.must_still_run()?;
    if good {
        return Ok(());
    }
    Err(match &selection.scenario {
        Some(scenario) => format!("The scenario `{scenario}` does not pass."),
        None => NOT_CONFORMING.to_owned(),
    })
}

/// What to run: each selected revision, or those of them that know the selected scenario.
fn plan(suite: &Suite, selection: &Selection) -> Outcome<Vec<Run>> {
    let mut runs = Vec::new();
    let mut known = BTreeSet::new();
    for revision in &REVISIONS {
        if selection.revision.is_some_and(|only| only != revision) {
            continue;
        }
        let requirements = Rc::new(Requirements::read(suite, revision)?);
        let extensions = revision.extensions.iter().map(|name| (*name).to_owned());
        known.extend(requirements.scenarios().cloned().chain(extensions.clone()));
        let runs_of = |scenario| Run { revision, requirements: requirements.clone(), scenario };
        match &selection.scenario {
            None => {
                runs.push(runs_of(None));
                runs.extend(extensions.map(Some).map(runs_of));
            }
            Some(name) if requirements.name(name) || revision.extensions.contains(&&**name) => {
                runs.push(runs_of(Some(name.clone())));
            }
            Some(_) => {}
        }
    }
    if let (true, Some(scenario)) = (runs.is_empty(), &selection.scenario) {
        let known = known.into_iter().collect::<Vec<_>>().join("\n  ");
        return Err(format!(
            "no selected revision has a server scenario `{scenario}`; there are\n  {known}"
        ));
    }
    Ok(runs)
}

impl Run {
    /// Runs the suite, prints the report and says whether all that is required passed.
    fn judge(&self, suite: &Suite, server: &Server, place: &Path) -> Outcome<bool> {
        let out = place.join("out").join(self.name());
        let log = place.join(format!("suite-{}.log", self.name()));
        let what = format!("conformance {}", self.name());
        let (status, results) = process::timed(&what, || {
            // The suite adds to what it finds: an old result must not stand in for a missing one.
            if out.exists() {
                fs::remove_dir_all(&out)
                    .map_err(|e| format!("cannot clear {}: {e}", out.display()))?;
            }
            let status = self.suite_run(suite, server, &out, &log)?;
            let results = Results::read(&out)
                .map_err(|e| format!("{e}\nThe suite said:\n{}", process::end_of(&log)))?;
            Ok((status, results))
        })?;

        let required = match &self.scenario {
            Some(scenario) => {
                // In full, if it is what was asked for.
                if !self.revision.extensions.contains(&&**scenario) {
                    print!("{results}");
                }
                BTreeSet::from([scenario.clone()])
            }
            None => self.requirements.required(self.revision),
        };
        let report = Report::new(&required, &results);
        print!("{report}");
        if report.passed() && !status.success() {
            // Its exit code and its files should never disagree; if they do, believe neither.
            return Err(format!(
                "the suite ended with {status} although every result is good; read {}",
                log.display()
            ));
        }
        if !report.passed() {
            println!("   in full: {} and {}", out.display(), log.display());
        }
        Ok(report.passed())
    }

    fn suite_run(
        &self,
        suite: &Suite,
        server: &Server,
        out: &Path,
        log: &Path,
    ) -> Outcome<ExitStatus> {
        let mut command = suite.command();
        command.args(["server", "--url", &server.url()]);
        match &self.scenario {
            None => command.args(["--requirements", self.revision.name]),
            // `--force`, as the suite itself does for a requirement set: an extension has no
            // revision of its own and would be skipped, with exit code 0 and no result.
            Some(scenario) => command
                .args(["--scenario", scenario, "--force"])
                .args(["--spec-version", self.revision.name]),
        };
        command.arg("--output-dir").arg(out);
        process::logged(&mut command, log)
    }

    fn name(&self) -> String {
        match &self.scenario {
            None => self.revision.name.to_owned(),
            Some(scenario) => format!("{}-{scenario}", self.revision.name),
        }
    }
}

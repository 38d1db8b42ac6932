//! `cargo xtask conformance`: runs the official MCP conformance suite against the example server, and against the client.
//!
//! It installs the suite, builds what it tests, runs each revision's requirement set for both sides, and checks the
//! files that the suite wrote. There must never be a list of expected failures. `requirements` names what is out of
//! scope, and why.
//!
//! | file | subject |
//! |---|---|
//! | `install` | the pinned suite and a Node that can run it |
//! | `requirements` | the scenarios that a revision requires |
//! | `subject` | the server and the client under test |
//! | `results` | the files that the suite wrote |
//! | `report` | which scenarios passed |

mod install;
mod report;
mod requirements;
mod results;
mod subject;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::rc::Rc;

use crate::process::{self, Outcome};
use crate::workspace::Workspace;
use install::Suite;
use report::Report;
use requirements::{OUT_OF_SCOPE, REVISIONS, Requirements, Revision, Side};
use results::Results;
use subject::Subjects;

const NOT_CONFORMING: &str = "\
Something does not conform. To repeat this alone, or one scenario with its checks in full:

    cargo xtask conformance
    cargo xtask conformance --scenario NAME
";

/// Which part of the suite to run. The default: all of it.
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

/// One run of the suite with one revision of the protocol.
struct Run {
    revision: &'static Revision,
    side: Side,
    requirements: Rc<Requirements>,
    /// One scenario instead of the whole requirement set.
    scenario: Option<String>,
}

pub(crate) fn run(at: &Workspace, selection: &Selection) -> Outcome {
    let place = at.target.join("conformance");
    let suite = install::ensure(&place)?;
    let runs = plan(&suite, selection)?;
    let mut subjects = Subjects::new(at, &place);

    let mut good = true;
    for run in &runs {
        good &= run.judge(&suite, &mut subjects, &place)?;
    }
    subjects.must_still_run()?;
    if good {
        return Ok(());
    }
    Err(match &selection.scenario {
        Some(scenario) => format!("The scenario `{scenario}` does not pass."),
        None => NOT_CONFORMING.to_owned(),
    })
}

/// Returns what to run: each selected revision, or those that have the selected scenario.
fn plan(suite: &Suite, selection: &Selection) -> Outcome<Vec<Run>> {
    let mut runs = Vec::new();
    let mut known = BTreeSet::new();
    let selected = |revision: &&Revision| selection.revision.is_none_or(|only| only == *revision);
    for side in [Side::Server, Side::Client] {
        for revision in REVISIONS.iter().filter(selected) {
            let requirements = Rc::new(Requirements::read(suite, revision, side)?);
            let beyond = revision.beyond(side);
            let extensions = beyond.extensions.iter().map(|name| (*name).to_owned());
            known.extend(requirements.scenarios().cloned().chain(extensions.clone()));
            let runs_of =
                |scenario| Run { revision, side, requirements: requirements.clone(), scenario };
            match &selection.scenario {
                None => {
                    runs.push(runs_of(None));
                    runs.extend(extensions.map(Some).map(runs_of));
                }
                Some(name) if requirements.name(name) || beyond.extensions.contains(&&**name) => {
                    runs.push(runs_of(Some(name.clone())));
                }
                Some(_) => {}
            }
        }
    }
    if let (true, Some(scenario)) = (runs.is_empty(), &selection.scenario) {
        let known = known.into_iter().collect::<Vec<_>>().join("\n  ");
        return Err(format!(
            "no selected revision has a scenario `{scenario}`; there are\n  {known}"
        ));
    }
    Ok(runs)
}

impl Run {
    /// Runs the suite and prints the report. Returns true if everything required passed.
    fn judge(&self, suite: &Suite, subjects: &mut Subjects<'_>, place: &Path) -> Outcome<bool> {
        subjects.ready(self.side)?;
        let out = place.join("out").join(self.name());
        let required = self.required();
        let what = format!("conformance {}", self.name());
        let (status, log, results) = process::timed(&what, || {
            // The suite adds to existing results, and an old result must not replace a missing one.
            if out.exists() {
                fs::remove_dir_all(&out)
                    .map_err(|e| format!("cannot clear {}: {e}", out.display()))?;
            }
            let (status, log) = match self.side {
                Side::Server => self.server_run(suite, &subjects.url()?, &out, place)?,
                Side::Client => self.client_runs(suite, subjects, &required, &out, place)?,
            };
            let results = Results::read(&out, self.side)
                .map_err(|e| format!("{e}\nThe suite said:\n{}", process::end_of(&log)))?;
            Ok((status, log, results))
        })?;

        // A single selected scenario is printed in full.
        if let Some(scenario) = &self.scenario
            && !self.revision.beyond(self.side).extensions.contains(&&**scenario)
        {
            print!("{results}");
        }
        let report = Report::new(&required, &results);
        print!("{report}");
        if self.requirements.out_of_scope > 0 && self.scenario.is_none() {
            let (names, why) = OUT_OF_SCOPE;
            println!("   out of scope: {} of `{names}`: {why}", self.requirements.out_of_scope);
        }
        if report.passed() && !status.success() {
            // The exit code and the files should never disagree. If they do, both are unreliable.
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

    /// Returns the scenarios that must pass.
    fn required(&self) -> BTreeSet<String> {
        match &self.scenario {
            Some(scenario) => BTreeSet::from([scenario.clone()]),
            None => self.requirements.required(self.revision.beyond(self.side)),
        }
    }

    fn server_run(
        &self,
        suite: &Suite,
        url: &str,
        out: &Path,
        place: &Path,
    ) -> Outcome<(ExitStatus, PathBuf)> {
        let mut command = suite.command();
        command.args(["server", "--url", url]);
        match &self.scenario {
            None => command.args(["--requirements", self.revision.name]),
            Some(scenario) => command.args(self.only(scenario)),
        };
        command.arg("--output-dir").arg(out);
        let log = place.join(format!("suite-{}.log", self.name()));
        Ok((process::logged(&mut command, &log)?, log))
    }

    /// Runs the scenarios one by one, because a requirement set includes what is out of scope. Returns the first failed
    /// exit, or the last exit.
    fn client_runs(
        &self,
        suite: &Suite,
        subjects: &Subjects<'_>,
        scenarios: &BTreeSet<String>,
        out: &Path,
        place: &Path,
    ) -> Outcome<(ExitStatus, PathBuf)> {
        let (folder, program) = subjects.client()?;
        let mut ended: Outcome<(ExitStatus, PathBuf)> =
            Err("no scenario is required of clients".to_owned());
        for scenario in scenarios {
            let mut command = suite.command();
            // The suite splits a command line at spaces, and a folder's name may contain some.
            command.current_dir(folder).args(["client", "--command", program]);
            command.args(self.only(scenario)).arg("--output-dir").arg(out);
            let log = place.join(format!("suite-{}-{scenario}.log", self.name()));
            let status = process::logged(&mut command, &log)?;
            if !matches!(&ended, Ok((earlier, _)) if !earlier.success()) {
                ended = Ok((status, log));
            }
        }
        ended
    }

    /// Returns the options for one scenario. `--force`, as in the suite's own requirement sets: an extension has no
    /// revision, so the suite would skip it, with exit code 0 and no result.
    fn only<'a>(&self, scenario: &'a str) -> [&'a str; 5] {
        ["--scenario", scenario, "--force", "--spec-version", self.revision.name]
    }

    fn name(&self) -> String {
        let side = match self.side {
            Side::Server => "",
            Side::Client => "client-",
        };
        match &self.scenario {
            None => format!("{side}{}", self.revision.name),
            Some(scenario) => format!("{side}{}-{scenario}", self.revision.name),
        }
    }
}

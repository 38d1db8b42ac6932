//! `cargo xtask bench`: compares Candor with other programs, as ratios.
//!
//! It builds the programs of `bench/`, runs each pair in turns, takes medians, and compares the ratios with the bars. A
//! missed bar is reported and fails nothing, because a busy machine may be the cause.
//!
//! | file | subject |
//! |---|---|
//! | `rows` | the comparisons and their bars |
//! | `measure` | the runs of a row, in turns, and their medians |
//! | `ten_lines` | the smallest server, twice: its crates and its build |
//! | `machine` | the machine of the measurement |
//! | `report` | the table, for the terminal and as Markdown |

mod machine;
mod measure;
mod report;
mod rows;
mod ten_lines;

use std::fs;
use std::process::Command;

use crate::process::{self, Outcome};
use crate::workspace::Workspace;
use machine::Machine;
use measure::Bench;
use report::{Line, Report};
use rows::{ROWS, Row};

/// What to run, and how thoroughly.
#[derive(Default)]
pub(crate) struct Choice {
    /// One short run of each row, for a trial. Its figures mean nothing.
    quick: bool,
    /// Runs of each side, if not the usual number. More runs make up for a noisy machine.
    runs: Option<usize>,
    /// Only rows whose name contains this.
    only: Option<String>,
    /// Includes the row that takes minutes.
    build_cpu: bool,
}

impl Choice {
    pub(crate) fn from_options(options: &[&str]) -> Outcome<Self> {
        let mut choice = Self::default();
        let mut options = options.iter();
        while let Some(option) = options.next() {
            match *option {
                "--quick" => choice.quick = true,
                "--build-cpu" => choice.build_cpu = true,
                "--runs" => {
                    let runs = options.next().and_then(|runs| runs.parse().ok());
                    choice.runs =
                        Some(runs.filter(|runs| *runs > 0).ok_or("`--runs` needs a number")?);
                }
                "--only" => {
                    let name = options.next().ok_or("`--only` needs the name of a row")?;
                    choice.only = Some((*name).to_owned());
                }
                _ => return Err(format!("bench has no option `{option}`")),
            }
        }
        Ok(choice)
    }

    fn rows(&self) -> Outcome<Vec<&'static Row>> {
        let wanted = |row: &&Row| match &self.only {
            Some(name) => row.name.contains(name.as_str()),
            None => self.build_cpu || !row.is_slow(),
        };
        let rows: Vec<_> = ROWS.iter().filter(wanted).collect();
        if rows.is_empty() {
            let names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
            return Err(format!(
                "no row has this in its name; there are\n  {}",
                names.join("\n  ")
            ));
        }
        Ok(rows)
    }

    /// Returns the command line that repeats this.
    fn line(&self) -> String {
        let mut line = "cargo xtask bench".to_owned();
        for (option, given) in [("--quick", self.quick), ("--build-cpu", self.build_cpu)] {
            if given {
                line = format!("{line} {option}");
            }
        }
        let line = self.runs.iter().fold(line, |line, runs| format!("{line} --runs {runs}"));
        self.only.iter().fold(line, |line, name| format!("{line} --only {name}"))
    }
}

/// Returns false if a run failed. A missed bar is not a failure.
pub(crate) fn run(at: &Workspace, choice: &Choice) -> Outcome<bool> {
    let rows = choice.rows()?;
    process::timed("build (cargo build --release -p candor-bench)", || build(at))?;
    let before = Machine::look()?;
    let bench = Bench::new(at, choice.quick, choice.runs);
    let mut report = Report::new(choice.line(), bench.method());
    for row in rows {
        match process::timed(row.name, || bench.measure(row)) {
            Ok(measured) => report.lines.push(Line::of(row, measured)),
            Err(message) => report.failures.push(format!("{}: {message}", row.name)),
        }
    }
    print!("\n{}", report.for_terminal());

    let file = at.target.join("bench").join("bench.md");
    let text = report.as_markdown(&before, &Machine::look()?);
    process::create(&file)
        .and_then(|_| fs::write(&file, text))
        .map_err(|e| format!("cannot write {}: {e}", file.display()))?;
    println!("\nEvery run, and the machine: {}", file.display());
    Ok(report.failures.is_empty())
}

fn build(at: &Workspace) -> Outcome {
    let mut build = Command::new("cargo");
    build.args(["build", "--release", "--package", "candor-bench", "--bins"]);
    process::quietly(&mut build, &at.log("bench-build"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_row_runs_only_on_request() {
        let names = |options: &[&str]| -> Vec<_> {
            let rows = Choice::from_options(options).unwrap().rows().unwrap();
            rows.iter().map(|row| row.name).collect()
        };

        assert!(!names(&[]).contains(&"build-cpu"));
        assert!(names(&["--build-cpu"]).contains(&"build-cpu"));
        assert_eq!(names(&["--only", "build-cpu"]), ["build-cpu"]);
    }

    #[test]
    fn report_has_the_command_to_repeat_the_run() {
        let options = ["--only", "stdio", "--quick", "--runs", "3"];

        assert_eq!(
            Choice::from_options(&options).unwrap().line(),
            "cargo xtask bench --quick --runs 3 --only stdio"
        );
    }

    #[test]
    fn unknown_row_is_an_error() {
        assert!(Choice::from_options(&["--only", "nothing"]).unwrap().rows().is_err());
    }
}

//! The runs of a row and their medians. The sides take turns, so that a disturbance affects both.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::rows::{Figure, Kind, Row, Side};
use super::ten_lines;
use crate::process::{self, Outcome};
use crate::workspace::Workspace;

/// Maximum growth in the second half of the calls that counts as flat, in megabytes.
const FLAT_MB: f64 = 1.0;

/// If a server was on its core for a smaller share of a run than this, something else disturbed the run.
const BUSY: f64 = 0.93;

/// Maximum repeats of a disturbed run.
const REPEATS: usize = 3;

/// The programs that measure, and the number of their runs.
pub(super) struct Bench<'a> {
    at: &'a Workspace,
    load: PathBuf,
    runs: usize,
    /// Number of processes, for figures that a process has only once.
    starts: usize,
    cpu_ms: u32,
    stdio_calls: u32,
}

/// The result of a row.
pub(super) struct Measured {
    pub(super) ours: Series,
    pub(super) theirs: Option<(Series, Ratio)>,
    pub(super) good: bool,
}

/// Ours divided by theirs: the median of the ratios of neighboring runs. A temporary slowdown of the machine
/// affects both runs of a pair.
pub(super) struct Ratio(pub(super) f64);

/// The runs of one side.
pub(super) struct Series {
    pub(super) label: &'static str,
    pub(super) unit: &'static str,
    pub(super) values: Vec<f64>,
    /// What each run printed, for the details in the report.
    pub(super) printed: Vec<Value>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(at: &'a Workspace, quick: bool, runs: Option<usize>) -> Self {
        let load = at.target.join("release");
        let load = load.join(format!("bench-load{}", std::env::consts::EXE_SUFFIX));
        let usual = if quick {
            Self { at, load, runs: 1, starts: 2, cpu_ms: 300, stdio_calls: 2_000 }
        } else {
            Self { at, load, runs: 5, starts: 10, cpu_ms: 2_000, stdio_calls: 20_000 }
        };
        Self { runs: runs.unwrap_or(usual.runs), ..usual }
    }

    /// Returns the method of measurement, in words.
    pub(super) fn method(&self) -> String {
        format!(
            "Medians of {} runs, the two sides in turns, a new server process for each run; the ratio is the median of the \
             ratios of neighbors. HTTP: 32 keep-alive \
             connections, {:.1} s of the server's CPU per run; a run that something else disturbed is repeated. stdio: the \
             median of {} calls per run. Start and idle memory: {} processes. \
             Every server runs on one thread; server on one core, load on the other.",
            self.runs,
            f64::from(self.cpu_ms) / 1e3,
            self.stdio_calls,
            self.starts
        )
    }

    pub(super) fn measure(&self, row: &Row) -> Outcome<Measured> {
        match &row.kind {
            Kind::Ratio { figure, ours, theirs, at_most } => {
                let amount = self.amount(*figure);
                let mut ours_run = Series::new(ours.label, figure.unit());
                let mut theirs_run = Series::new(theirs.label, figure.unit());
                for _ in 0..self.runs {
                    ours_run.add(*figure, self.undisturbed(ours, amount)?)?;
                    theirs_run.add(*figure, self.undisturbed(theirs, amount)?)?;
                }
                Ok(Measured::ratio(ours_run, theirs_run, *at_most))
            }
            Kind::Below { figure, ours, limit } => {
                let mut series = Series::new(ours.label, figure.unit());
                for _ in 0..self.starts {
                    series.add(*figure, self.run(ours, 0)?)?;
                }
                let good = series.median() < *limit;
                Ok(Measured { ours: series, theirs: None, good })
            }
            Kind::Flat { ours, calls } => {
                let printed = self.run(ours, *calls)?;
                let values = printed["resident_mb"].as_array().into_iter().flatten();
                let values: Vec<f64> = values.filter_map(Value::as_f64).collect();
                let [_, halfway, after] = values[..] else {
                    return Err(format!("no memory of three moments in {printed}"));
                };
                let series =
                    Series { label: ours.label, unit: "MB", values, printed: vec![printed] };
                Ok(Measured { ours: series, theirs: None, good: after - halfway <= FLAT_MB })
            }
            Kind::Crates { at_most } => {
                let [ours, theirs] = ten_lines::crates(self.at)?;
                Ok(Measured::ratio(ours, theirs, *at_most))
            }
            Kind::BuildCpu { at_most } => {
                let [ours, theirs] = ten_lines::build_cpu(self.at)?;
                Ok(Measured::ratio(ours, theirs, *at_most))
            }
        }
    }

    fn amount(&self, figure: Figure) -> u32 {
        if figure == Figure::TimePerCall { self.stdio_calls } else { self.cpu_ms }
    }

    /// Returns a run whose server had its core to itself, or after some attempts the run that came closest. Another process on the
    /// core shares its caches, and makes every call more expensive.
    fn undisturbed(&self, side: &Side, amount: u32) -> Outcome<Value> {
        let mut best = self.run(side, amount)?;
        for _ in 0..REPEATS {
            if busy(&best) >= BUSY {
                break;
            }
            let again = self.run(side, amount)?;
            if busy(&again) > busy(&best) {
                best = again;
            }
        }
        Ok(best)
    }

    fn run(&self, side: &Side, amount: u32) -> Outcome<Value> {
        let mut command = Command::new(&self.load);
        command.arg(side.asked).arg(amount.to_string()).args(side.server);
        let printed = process::answer(&mut command)?;
        serde_json::from_str(&printed).map_err(|e| format!("cannot read {printed:?}: {e}"))
    }
}

/// Returns the share of a run during which the server was on its core. Runs over stdio have no such figure, because
/// both sides wait.
fn busy(printed: &Value) -> f64 {
    printed["busy"].as_f64().unwrap_or(1.0)
}

impl Measured {
    fn ratio(ours: Series, theirs: Series, at_most: f64) -> Self {
        let ratios = ours.values.iter().zip(&theirs.values).map(|(a, b)| a / b).collect();
        let ratio = median(ratios);
        Self { ours, theirs: Some((theirs, Ratio(ratio))), good: ratio <= at_most }
    }
}

impl Series {
    fn new(label: &'static str, unit: &'static str) -> Self {
        Self { label, unit, values: Vec::new(), printed: Vec::new() }
    }

    fn add(&mut self, figure: Figure, printed: Value) -> Outcome {
        let value = printed[figure.member()].as_f64();
        self.values.push(value.ok_or_else(|| format!("no `{}` in {printed}", figure.member()))?);
        self.printed.push(printed);
        Ok(())
    }

    /// Returns a series of one value that no run printed.
    pub(super) fn one(label: &'static str, unit: &'static str, value: f64) -> Self {
        Self { label, unit, values: vec![value], printed: Vec::new() }
    }

    pub(super) fn median(&self) -> f64 {
        median(self.values.clone())
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.is_empty() {
        f64::NAN
    } else if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> Series {
        Series { values: values.to_vec(), ..Series::new("candor", "µs") }
    }

    #[test]
    fn median_ignores_a_disturbed_run() {
        assert!((series(&[10.0, 90.0, 11.0]).median() - 11.0).abs() < 1e-9);
        assert!((series(&[10.0, 12.0]).median() - 11.0).abs() < 1e-9);
    }

    #[test]
    fn slow_phase_leaves_the_ratio_unchanged() {
        let measured = Measured::ratio(series(&[5.0, 15.0, 6.0]), series(&[10.0, 30.0, 11.0]), 0.5);

        assert!(measured.theirs.is_some_and(|(_, Ratio(ratio))| (ratio - 0.5).abs() < 1e-9));
    }

    #[test]
    fn ratio_is_good_up_to_its_limit() {
        assert!(Measured::ratio(series(&[5.0]), series(&[10.0]), 0.5).good);
        assert!(!Measured::ratio(series(&[5.1]), series(&[10.0]), 0.5).good);
    }
}

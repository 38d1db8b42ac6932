//! The machine of a measurement: figures mean nothing without it.

use std::fs;
use std::process::Command;

use crate::process::{self, Outcome};

/// The state of the machine at one moment.
pub(super) struct Machine {
    facts: Vec<(&'static str, String)>,
    /// Runnable processes, on average over the last minute.
    load: String,
    /// Ticks of all cores since the start, and how many of them the host gave to other guests.
    ticks: [u64; 2],
}

impl Machine {
    pub(super) fn look() -> Outcome<Self> {
        let ask = |program: &str, arguments: &[&str]| {
            process::answer(Command::new(program).args(arguments))
                .map(|text| text.trim().to_owned())
        };
        // Only a missing compiler version is an error.
        let or_unknown = |text: Outcome<String>| text.unwrap_or_else(|_| "unknown".to_owned());
        let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
        let commit = or_unknown(ask("git", &["describe", "--always", "--dirty"]));
        let facts = vec![
            ("date", or_unknown(ask("date", &["-u", "+%Y-%m-%d %H:%M UTC"]))),
            ("commit", commit),
            ("processor", format!("{} × {}", cores, processor())),
            ("kernel", or_unknown(ask("uname", &["-sr"]))),
            ("compiler", ask("rustc", &["--version"])?),
        ];
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split(' ').next().unwrap_or("unknown").to_owned();
        Ok(Self { facts, load, ticks: ticks() })
    }

    /// Returns what else the machine did meanwhile, if that is known.
    pub(super) fn disturbance(&self, after: &Self) -> String {
        let [all, stolen] = [0, 1].map(|i| after.ticks[i].saturating_sub(self.ticks[i]) as f64);
        let stolen = 100.0 * stolen / all.max(1.0);
        format!(
            "load average {} before, {} after; {stolen:.1} % of the time went to other guests of the host",
            self.load, after.load
        )
    }

    pub(super) fn facts(&self) -> impl Iterator<Item = &(&'static str, String)> {
        self.facts.iter()
    }
}

fn processor() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.to_owned())
}

/// Returns all ticks and the stolen ones, from the first line of `/proc/stat`.
fn ticks() -> [u64; 2] {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = stat.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = line.split_ascii_whitespace().skip(1).flat_map(str::parse).collect();
    // The first two columns already contain the time of our own guests.
    [ticks.iter().take(8).sum(), ticks.get(7).copied().unwrap_or_default()]
}

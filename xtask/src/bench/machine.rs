//! On what all this was measured: figures without it mean nothing.

use std::fs;
use std::process::Command;

use crate::process::{self, Outcome};

/// The machine at one moment.
pub(super) struct Machine {
    facts: Vec<(&'static str, String)>,
    /// Processes that wanted to run, on average over the last minute.
    pub(super) load: String,
}

impl Machine {
    pub(super) fn look() -> Outcome<Self> {
        let ask = |program: &str, arguments: &[&str]| {
            process::answer(Command::new(program).args(arguments))
                .map(|text| text.trim().to_owned())
        };
        // None of these is worth failing for, but the compiler's version.
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
        Ok(Self { facts, load })
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

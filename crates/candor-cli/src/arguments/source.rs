//! Text that is not on the command line: files and stdin.

use std::fs::File;
use std::io::Read;

use candor::operator::shown::shown;

/// The size limit in bytes. It is more than any server accepts.
const LARGEST: u64 = 16 * 1024 * 1024;

pub(super) struct Sources<'a> {
    /// `None` once it was read: there is only one stdin.
    stdin: Option<&'a mut dyn Read>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(stdin: &'a mut dyn Read) -> Self {
        Self { stdin: Some(stdin) }
    }

    /// Reads a file, or stdin for `-`.
    pub(super) fn read(&mut self, path: &str) -> Result<String, String> {
        let name = if path == "-" { "stdin".to_owned() } else { shown(path).to_string() };
        if path == "-" {
            let stdin = self.stdin.take().ok_or("stdin was already read for another argument")?;
            return bounded(stdin, &name);
        }
        let file = File::open(path).map_err(|error| format!("{name}: {error}"))?;
        bounded(file, &name)
    }
}

fn bounded(from: impl Read, name: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = from.take(LARGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("{name}: {error}"))?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("{name}: larger than {} MiB", LARGEST / 1024 / 1024));
    }
    String::from_utf8(bytes).map_err(|_| format!("{name}: this is not UTF-8 text"))
}

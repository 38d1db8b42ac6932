//! Runs other programs. Prints little if they succeed, and everything if they fail.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Instant;

/// An error is a message for the developer at the terminal. No code distinguishes errors.
pub(crate) type Outcome<T = ()> = Result<T, String>;

/// Maximum lines of a failed program's output on the terminal. The log has all of it.
const SHOWN_LINES: usize = 200;

/// Prints `── what … 41 s` around the work. The first half comes before it, so that a long step shows what runs.
pub(crate) fn timed<T>(what: &str, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    print!("── {what} … ");
    io::stdout().flush().ok();
    let start = Instant::now();
    let outcome = work();
    let failed = if outcome.is_err() { "failed after " } else { "" };
    println!("{failed}{:.0} s", start.elapsed().as_secs_f64());
    outcome
}

/// Runs the command with its output in `log`. The error has the end of that output, and the line that repeats the command.
pub(crate) fn quietly(command: &mut Command, log: &Path) -> Outcome {
    let status = logged(command, log)?;
    if status.success() {
        return Ok(());
    }
    Err(format!(
        "{}\nIt ended with {status}. To repeat it alone:\n\n    {}\n",
        end_of(log),
        line_of(command)
    ))
}

/// Runs the command with its output in `log`. The calling function checks the exit status.
pub(crate) fn logged(command: &mut Command, log: &Path) -> Outcome<ExitStatus> {
    let (out, err) = create(log)
        .and_then(|file| Ok((file.try_clone()?, file)))
        .map_err(|e| format!("cannot write {}: {e}", log.display()))?;
    command.stdout(out).stderr(err).status().map_err(|e| not_started(command, &e))
}

/// Returns what the command prints on stdout.
pub(crate) fn answer(command: &mut Command) -> Outcome<String> {
    let output = command.output().map_err(|e| not_started(command, &e))?;
    if !output.status.success() {
        return Err(format!(
            "`{}` ended with {}:\n{}",
            line_of(command),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    String::from_utf8(output.stdout)
        .map_err(|e| format!("`{}` does not answer in UTF-8: {e}", line_of(command)))
}

/// Creates a file, and the directories above it.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    File::create(path)
}

/// Returns the last lines of a log, and the path of the log.
pub(crate) fn end_of(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let hidden = lines.len().saturating_sub(SHOWN_LINES);
    let note = if hidden > 0 {
        format!("({hidden} lines before this are in {})\n", log.display())
    } else {
        String::new()
    };
    format!("{note}{}", lines[hidden..].join("\n"))
}

pub(crate) fn not_started(command: &Command, error: &io::Error) -> String {
    let program = command.get_program().to_string_lossy();
    format!("cannot start `{program}`: {error}; install it, or put it on the PATH, and repeat")
}

/// Returns the command as a line for a shell. It is derived from the command that ran, so the two cannot differ.
fn line_of(command: &Command) -> String {
    let settings = command.get_envs().filter_map(|(name, value)| {
        let value = quoted(&value?.to_string_lossy());
        Some(format!("{}={value}", name.to_string_lossy()))
    });
    let words = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| quoted(&word.to_string_lossy()));
    settings.chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=@,+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_is_printed_as_shell_input() {
        let mut command = Command::new("cargo");
        command.args(["doc", "--no-deps", ""]).env("RUSTDOCFLAGS", "-D warnings");

        let line = line_of(&command);

        assert_eq!(line, "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps ''");
    }
}

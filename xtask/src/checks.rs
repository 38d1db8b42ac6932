//! Programs that check by themselves: they print `ok WHAT` for each check, and exit with 0 if all checks pass.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::{self, Outcome};

/// How often to check whether a program has ended.
const A_MOMENT: Duration = Duration::from_millis(20);

/// Runs the program with its output in `log`, for at most `patience`. Returns the checks that passed.
pub(crate) fn run(command: &mut Command, log: &Path, patience: Duration) -> Outcome<Vec<String>> {
    match bounded(command, log, patience)? {
        Some(status) if status.success() => {}
        Some(status) => return Err(format!("{}\nIt ended with {status}.", process::end_of(log))),
        None => {
            let seconds = patience.as_secs();
            return Err(format!("{}\nIt ran for {seconds} s.", process::end_of(log)));
        }
    }
    let output =
        fs::read_to_string(log).map_err(|e| format!("cannot read {}: {e}", log.display()))?;
    Ok(passed(&output))
}

/// Returns the checks that passed. Lines of a server's log may come between them.
fn passed(output: &str) -> Vec<String> {
    output.lines().filter_map(|line| line.strip_prefix("ok ")).map(str::to_owned).collect()
}

/// Runs the program, and stops it when its time is over.
fn bounded(command: &mut Command, log: &Path, patience: Duration) -> Outcome<Option<ExitStatus>> {
    let (out, err) = process::create(log)
        .and_then(|file| Ok((file.try_clone()?, file)))
        .map_err(|e| format!("cannot write {}: {e}", log.display()))?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .spawn()
        .map_err(|e| process::not_started(command, &e))?;
    let ended = wait(&mut child, patience).map_err(|e| format!("cannot wait for a client: {e}"));
    if !matches!(ended, Ok(Some(_))) {
        // If the program has a server of its own, that server ends when its input closes.
        child.kill().ok();
        child.wait().ok();
    }
    ended
}

fn wait(child: &mut Child, patience: Duration) -> std::io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        let ended = child.try_wait()?;
        if ended.is_some() || start.elapsed() > patience {
            return Ok(ended);
        }
        thread::sleep(A_MOMENT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_log_lines_are_not_counted_as_checks() {
        let output = "ok lists the tools\n INFO ok, listening\nok reads a text resource\n";

        assert_eq!(passed(output), ["lists the tools", "reads a text resource"]);
    }
}

//! Programs that judge by themselves: they print `ok WHAT` for each thing checked, and end with exit code 0 if all is good.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::{self, Outcome};

/// How often to look whether a program has ended.
const A_MOMENT: Duration = Duration::from_millis(20);

/// Runs the program with its output in `log`, for no longer than `patience`, and gives the checks that it has passed.
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

/// A server's log may stand between the lines.
fn passed(output: &str) -> Vec<String> {
    output.lines().filter_map(|line| line.strip_prefix("ok ")).map(str::to_owned).collect()
}

/// Stops the program when its time is over.
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
        // Its server, if it has one of its own, ends with its input.
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
    fn what_a_server_logs_is_no_check() {
        let output = "ok lists the tools\n INFO ok, listening\nok reads a text resource\n";

        assert_eq!(passed(output), ["lists the tools", "reads a text resource"]);
    }
}

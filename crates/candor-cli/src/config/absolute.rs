//! Paths that work wherever a host starts a program: its working folder may be `/`, and its PATH may be short.

use std::env;
use std::path::{self, Path, PathBuf};

use candor::operator::shown::shown;

use crate::exit::Failure;
use crate::program::{on_path, runnable};
use crate::width::cut;
use candor_client::config::Target;

/// Resolves the program and the paths among its arguments to absolute paths. Notes report each change.
pub(super) fn program(
    command: &str,
    args: Vec<String>,
    folder: &Path,
    notes: &mut Vec<String>,
) -> Result<Target, Failure> {
    let found = locate(command, folder, env::var_os("PATH").as_deref())?;
    let is_candor = found.file_stem().is_some_and(|stem| stem == "candor");
    let mut args: Vec<_> = args
        .into_iter()
        .enumerate()
        .map(|(at, arg)| whole(at, arg, command, folder, notes))
        .collect();
    // Without --stdio, `candor files` serves HTTP, and the host would wait forever.
    if is_candor
        && args.first().is_some_and(|first| first == "files")
        && !args.iter().any(|arg| arg == "--stdio")
    {
        notes.push(
            "--stdio is added: a host uses stdin and stdout to talk to a program that it starts"
                .to_owned(),
        );
        args.push("--stdio".to_owned());
    }
    let program = in_text(found)?;
    Ok(Target::Program { program, args, env: Vec::new(), cwd: None })
}

fn in_text(path: PathBuf) -> Result<String, Failure> {
    path.into_os_string().into_string().map_err(|path| {
        Failure::failed(format!(
            "{}: no host can write a path that is not UTF-8",
            shown(&path.to_string_lossy())
        ))
    })
}

/// Returns an argument, as an absolute path if it names something that exists.
fn whole(at: usize, arg: String, command: &str, folder: &Path, notes: &mut Vec<String>) -> String {
    let path = Path::new(&arg);
    if arg.is_empty() || arg.starts_with('-') || path.is_absolute() || !folder.join(path).exists() {
        return arg;
    }
    // `candor files .` next to a folder `files`: a first bare word is more often a command than a path.
    let bare = !arg.contains(['/', '\\', '.']);
    if at == 0 && bare {
        notes.push(format!(
            "did not make {} absolute: {} may have a command of that name. If you mean the file, write ./{0}",
            cut(&arg, 60),
            cut(command, 60)
        ));
        return arg;
    }
    match path::absolute(folder.join(path)).map(|path| path.into_os_string().into_string()) {
        Ok(Ok(whole)) => {
            notes.push(format!("{} is written as {}", cut(&arg, 60), shown(&whole)));
            whole
        }
        _ => arg,
    }
}

/// Returns the absolute path of a program.
fn locate(
    command: &str,
    folder: &Path,
    search: Option<&std::ffi::OsStr>,
) -> Result<PathBuf, Failure> {
    let missing = |why: &str| Failure::usage(format!("{}: {why}", cut(command, 80)));
    if command.is_empty() {
        return Err(Failure::usage("the program after -- has no name"));
    }
    if command.contains(['/', path::MAIN_SEPARATOR]) {
        let path =
            path::absolute(folder.join(command)).map_err(|error| missing(&error.to_string()))?;
        return runnable(&path).ok_or_else(|| missing("there is no such program"));
    }
    let found = on_path(command, search);
    // This program is candor, so its own path works even if PATH does not have it.
    let ourselves = || (command == "candor").then(env::current_exe).and_then(Result::ok);
    found.or_else(ourselves).ok_or_else(|| {
        let hint =
            if folder.join(command).is_file() { "; the one in this folder is ./" } else { "" };
        let name = if hint.is_empty() { String::new() } else { cut(command, 80) };
        missing(&format!("there is no such program on PATH{hint}{name}"))
    })
}

//! `candor config HOST`: prints what to paste into a host so that it starts or reaches a server. It writes no files.

mod absolute;
mod host;
mod name;
mod settled;
mod snippet;

use std::io::{self, Write as _};

use candor::operator::shown::shown;
use candor_client::config::{Owner, Target};

use crate::exit::Failure;
use crate::targets::{CliEnvironment, TargetKind};
use crate::width::cut;
use host::Host;

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "candor config HOST TARGET [--name NAME]\n       candor config HOST [--name NAME] -- PROGRAM ARGS…",
    after_help = "\
Examples:
  candor config cursor -- candor files .
  candor config claude-code --name docs -- npx -y some-server ./docs
  candor config vscode :7332
  candor config codex github          # the server of that name in the files of another host"
)]
pub(crate) struct ConfigArgs {
    /// The host; most that are not listed take what json prints
    host: Host,

    /// The server: a URL, :PORT, or a name from a configuration file of your hosts
    #[arg(value_name = "TARGET")]
    words: Vec<String>,

    /// What to call the server there
    #[arg(long, value_parser = name::check)]
    name: Option<String>,

    /// The program that the host is to start
    #[arg(last = true, value_name = "PROGRAM ARGS")]
    program: Vec<String>,
}

pub(crate) fn run(args: ConfigArgs) -> Result<(), Failure> {
    let host = args.host;
    let mut words = args.words.into_iter();
    let target = words.next();
    let more: Vec<_> = words.collect();
    if !more.is_empty() {
        let line: Vec<_> = target.iter().chain(&more).map(|word| cut(word, 60)).collect();
        return Err(Failure::usage(format!(
            "too many words. To name a program, put two dashes before it: -- {}",
            line.join(" ")
        )));
    }
    let mut notes = Vec::new();
    let (found, known) = server(target, args.program, &mut notes)?;
    let name = args.name.or(known).unwrap_or_else(|| name::of(&found));
    let written = snippet::write(host, &name, &found, &mut notes)?;
    for note in notes {
        eprintln!("note: {note}");
    }
    eprintln!("{}", host.place());
    match writeln!(io::stdout(), "{written}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::failed(error)),
        _ => Ok(()),
    }
}

/// Returns the server that the host starts or reaches, with its variables as they are, and the name that it already has.
fn server(
    target: Option<String>,
    program: Vec<String>,
    notes: &mut Vec<String>,
) -> Result<(Target, Option<String>), Failure> {
    let here = CliEnvironment::real();
    let mut program = program.into_iter();
    match (target, program.next()) {
        (Some(target), Some(_)) => Err(Failure::usage(format!(
            "two servers: {} and the program after --. Leave one of them out",
            cut(&target, 60)
        ))),
        (None, None) => Err(Failure::usage(
            "which server? Name a URL, :PORT, a name from a configuration file of your hosts, or a program: -- candor files .",
        )),
        (None, Some(command)) => {
            let started = absolute::program(&command, program.collect(), &here.folder, notes)?;
            snippet::warn_of_secrets(&started, notes);
            Ok((started, None))
        }
        (Some(target), None) => match TargetKind::of(&target, &here)? {
            TargetKind::Url(url) => {
                let target = Target::Url { url, headers: Vec::new() };
                snippet::warn_of_secrets(&target, notes);
                Ok((target, None))
            }
            TargetKind::Entry { entry, notes: said } => {
                notes.extend(said);
                notes.push(format!(
                    "{} as in {}",
                    shown(entry.name()),
                    shown(&entry.file().to_string_lossy())
                ));
                // This command starts nothing, so it does not ask the user. The host will start the server.
                if entry.owner() == Owner::Project {
                    notes.push(
                        "that file came with a project: check what it starts and where it sends data before you paste it".to_owned(),
                    );
                }
                let target = snippet::without_secrets(&settled::settled(&entry, &here), notes);
                Ok((target, Some(entry.name().to_owned())))
            }
        },
    }
}

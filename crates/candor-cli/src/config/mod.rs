//! `candor config HOST`: what to paste into a host so that it starts, or reaches, a server. Nothing is written to files.

mod absolute;
mod host;
mod name;
mod snippet;

use std::io::{self, Write as _};

use candor::desk::shown::{cut, shown};
use candor_schema::nearest;

use crate::exit::Failure;
use crate::reach::{Named, Surroundings, Target};
use host::Host;

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "candor config HOST TARGET [--name NAME]\n       candor config HOST [--name NAME] -- PROGRAM ARGS…",
    after_help = "\
Hosts: claude-desktop, claude-code, cursor, vscode, windsurf, gemini-cli, codex, json

Examples:
  candor config cursor -- candor files .
  candor config claude-code --name docs -- npx -y some-server ./docs
  candor config vscode :7332
  candor config codex github          # the server of that name in the files of another host"
)]
pub(crate) struct Args {
    /// The host, then the server: a URL, :PORT, or a name from the files of your hosts
    #[arg(value_name = "HOST TARGET")]
    words: Vec<String>,

    /// What to call the server there
    #[arg(long, value_parser = name::check)]
    name: Option<String>,

    /// The program that the host is to start
    #[arg(last = true, value_name = "PROGRAM ARGS")]
    program: Vec<String>,
}

pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let mut words = args.words.into_iter();
    let host = host(words.next().as_deref())?;
    let target = words.next();
    if let Some(more) = words.next() {
        return Err(Failure::usage(format!(
            "{} is one word too many. To name a program, put two dashes before it: -- {}",
            cut(&more, 60),
            target.iter().chain([&more]).map(|word| cut(word, 60)).collect::<Vec<_>>().join(" ")
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

fn host(word: Option<&str>) -> Result<Host, Failure> {
    let names = || Host::ALL.iter().map(|host| host.name());
    let list = || names().collect::<Vec<_>>().join(", ");
    let Some(word) = word else {
        return Err(Failure::usage(format!("for which host? {}", list())));
    };
    Host::ALL.into_iter().find(|host| host.name() == word).ok_or_else(|| {
        let meant = nearest(word, names()).map(|meant| format!(" Did you mean {meant}?"));
        Failure::usage(format!(
            "{} is no host that is known here.{} There are {}; most others take what json prints",
            cut(word, 60),
            meant.unwrap_or_default(),
            list()
        ))
    })
}

/// What the host is to reach or start, with its variables as they are, and the name that it has already.
fn server(
    target: Option<String>,
    program: Vec<String>,
    notes: &mut Vec<String>,
) -> Result<(Target, Option<String>), Failure> {
    let here = Surroundings::real();
    let mut program = program.into_iter();
    match (target, program.next()) {
        (Some(target), Some(_)) => Err(Failure::usage(format!(
            "two servers: {} and the program behind --. Leave one of them out",
            cut(&target, 60)
        ))),
        (None, None) => Err(Failure::usage(
            "which server? Name a URL, :PORT, a name from the files of your hosts, or a program: -- candor files .",
        )),
        (None, Some(command)) => {
            let started = absolute::program(&command, program.collect(), &here.folder, notes)?;
            Ok((started, None))
        }
        (Some(target), None) => match Named::of(&target, &here)? {
            Named::Url(url) => Ok((Target::Url { url, headers: Vec::new() }, None)),
            Named::Entry { entry, notes: said } => {
                notes.extend(said);
                notes.push(format!(
                    "{} as in {}",
                    shown(&entry.name),
                    shown(&entry.file.to_string_lossy())
                ));
                let target = snippet::without_secrets(&entry.settled(&here), notes);
                Ok((target, Some(entry.name)))
            }
        },
    }
}

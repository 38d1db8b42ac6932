//! `candor files DIR`: serves a folder over MCP. Its files are resources, and tools work on them.

pub(crate) mod tools;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use candor::files::Root;
use candor::operator::shown::shown;
use candor::prelude::Directory;
use candor::run::{AskFlag, Run, ServeArgs, SplitFlag};
use candor::{Server, host_name};
use clap::builder::FalseyValueParser;

use crate::exit::Failure;
use crate::shell::quoted;
use crate::{ledger, number, program};
use tools::Folder;

/// The default limit on the size of a file, in bytes.
pub(crate) const MAX_FILE: u64 = 4 * 1024 * 1024;

#[derive(Debug, clap::Args)]
#[command(mut_arg("ask", asks_before_destroying), mut_arg("instance", names_the_folder))]
pub(crate) struct FilesArgs {
    /// The folder to serve
    dir: PathBuf,

    /// Offer nothing that changes files
    #[arg(long, env = "CANDOR_READ_ONLY", value_parser = FalseyValueParser::new())]
    read_only: bool,

    /// Show names that begin with a dot, too
    #[arg(long, env = "CANDOR_HIDDEN", value_parser = FalseyValueParser::new())]
    hidden: bool,

    /// The largest file to read, write or copy
    #[arg(long, value_name = "BYTES", env = "CANDOR_MAX_FILE", default_value_t = MAX_FILE, value_parser = number::bytes, allow_negative_numbers = true)]
    max_file: u64,

    #[command(flatten)]
    serve: ServeArgs,
}

pub(crate) async fn run(args: FilesArgs) -> Result<(), Failure> {
    let root = open(&args.dir)?.with_hidden(args.hidden);
    let path = root.path().display().to_string();
    let title = args.serve.instance_name().map_or_else(|| name(root.path()), str::to_owned);
    let mode = if args.read_only {
        "read-only".to_owned()
    } else {
        format!(
            "asks before: {}",
            candor::AskLevel::from(args.serve.ask.unwrap_or(AskFlag::Destructive)).as_str()
        )
    };
    let host = host_name(&title);
    let instructions = format!(
        "The files inside {path}. Paths are relative to it, with / between names. Nothing outside it is accessible."
    );
    let directory = Directory::of(root.clone()).largest(args.max_file);
    let server = Server::new("candor-files", env!("CARGO_PKG_VERSION"))
        .info(|info| info.title = Some(title))
        // Unless --instance names it, the folder is the instance.
        .instance(format!("file://{}", root.path().display()))
        .instructions(instructions)
        .state(Folder { root, directory: directory.clone(), largest: args.max_file })
        .tools(if args.read_only { tools::that_read() } else { tools::all() })
        .resources(directory);
    // By default, destructive calls need approval. A read-only server has none, so it needs no ledger for approvals.
    let server = if args.read_only { server } else { server.ask(candor::AskLevel::Destructive) };
    let about = [
        format!("candor files · {} · {mode}", shown(&path)),
        format!(
            "  host     claude mcp add {host} -- {} files {}{} --stdio",
            program::ourselves(),
            quoted(&shown(&path).to_string()),
            args.flags(&server.tool_names().unwrap_or_default())
        ),
    ];
    Ok(server.serve(args.serve, &about).await?)
}

impl FilesArgs {
    /// Returns the flags with which a host starts the same server: all except those of the transport.
    fn flags(&self, tools: &[String]) -> String {
        let mut flags = String::new();
        let mut add = |flag: &str| flags.extend([" ", flag]);
        if self.read_only {
            add("--read-only");
        }
        if self.hidden {
            add("--hidden");
        }
        if self.max_file != MAX_FILE {
            add(&format!("--max-file {}", self.max_file));
        }
        if let Some(instance) = self.serve.instance_name() {
            add(&format!("--instance {}", quoted(instance)));
        }
        if let Some(url) = &self.serve.ledger {
            add(&ledger::flag(&ledger::from_anywhere(url)));
        }
        if let Some(ask) = self.serve.ask {
            add(&format!("--ask {}", candor::AskLevel::from(ask).as_str()));
        }
        // CANDOR_DENY may name tools of other servers, but `--deny` refuses a tool that the server does not have.
        let denied = self.serve.deny.iter().map(|tool| tool.trim().to_owned());
        for tool in denied.filter(|tool| tools.contains(tool)) {
            add(&format!("--deny {}", quoted(&tool)));
        }
        if self.serve.operators_only() {
            add("--operators-only");
        }
        if let Some(time) = self.serve.hold {
            add(&match time.subsec_millis() {
                0 => format!("--hold {}s", time.as_secs()),
                _ => format!("--hold {}ms", time.as_millis()),
            });
        }
        match self.serve.split {
            None => {}
            Some(SplitFlag::Instead) => add("--split"),
            Some(SplitFlag::Beside) => add("--split=beside"),
        }
        flags
    }
}

/// Adapts the help of `--ask` to the default of this program's own servers.
pub(crate) fn asks_before_destroying(ask: clap::Arg) -> clap::Arg {
    with_default(ask, "destructive")
}

fn names_the_folder(instance: clap::Arg) -> clap::Arg {
    with_default(instance, "the folder's path")
}

/// Replaces the default that the help of an argument ends with.
fn with_default(arg: clap::Arg, default: &str) -> clap::Arg {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let text = help.split_once(" [default:").map_or(&*help, |(text, _)| text);
    arg.help(format!("{text} [default: {default}]"))
}

fn open(dir: &Path) -> Result<Root, Failure> {
    let named = |problem: &str| format!("{}: {problem}", dir.display());
    Root::open(dir).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::usage(named("no such folder exists")),
        ErrorKind::NotADirectory => {
            Failure::usage(named("this is not a folder; name the one it is in"))
        }
        _ => Failure::failed(named(&error.to_string())),
    })
}

fn name(path: &Path) -> String {
    path.file_name().map_or_else(|| "files".to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: FilesArgs,
    }

    #[test]
    fn help_names_the_defaults_of_this_program() {
        let command = <FilesArgs as clap::Args>::augment_args(clap::Command::new("files"));
        for (flag, default) in [("ask", "destructive"), ("instance", "the folder's path")] {
            let arg = command.get_arguments().find(|arg| arg.get_long() == Some(flag)).unwrap();
            let help = arg.get_help().unwrap().to_string();
            assert!(help.ends_with(&format!("[default: {default}]")), "{help}");
            assert_eq!(help.matches("[default:").count(), 1, "{help}");
        }
    }

    #[test]
    fn ledger_flag_has_a_placeholder_for_the_password() {
        let flags =
            |ledger: &str| Line::parse_from(["files", ".", "--ledger", ledger]).args.flags(&[]);
        assert_eq!(flags("sqlite:/a b.db"), " --ledger 'sqlite:/a b.db'");
        // A host may start the server in any folder.
        let here = std::env::current_dir().unwrap();
        let whole = format!("sqlite:{}", here.join("a b.db").display());
        assert_eq!(flags("sqlite:a b.db"), format!(" --ledger {}", quoted(&whole)));
        assert_eq!(flags("postgres://db/calls"), " --ledger postgres://db/calls");
        // No variable has the password, so a placeholder replaces it.
        let seen = " --ledger postgresql://ada:PASSWORD@db/calls";
        assert_eq!(flags("postgresql://ada:secret@db/calls"), seen);
    }
}

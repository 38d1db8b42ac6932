//! `candor completions SHELL`: prints what a shell needs to complete candor's command line.

use std::io::{self, Write as _};

use clap_complete::{Generator as _, Shell};

use crate::exit::Failure;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Save it where your shell loads completions:
  bash  candor completions bash > ~/.local/share/bash-completion/completions/candor
  zsh   candor completions zsh > \"${fpath[1]}/_candor\"
  fish  candor completions fish > ~/.config/fish/completions/candor.fish")]
pub(crate) struct CompletionsArgs {
    shell: TestedShell,
}

/// The shells that our tests cover. `clap_complete` supports more.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum TestedShell {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(args: &CompletionsArgs, mut command: clap::Command) -> Result<(), Failure> {
    let shell = match args.shell {
        TestedShell::Bash => Shell::Bash,
        TestedShell::Zsh => Shell::Zsh,
        TestedShell::Fish => Shell::Fish,
    };
    command.set_bin_name("candor");
    command.build();
    // Do not write to stdout directly: `clap_complete` panics if the reader has closed it.
    let mut script = Vec::new();
    shell.generate(&command, &mut script);
    match io::stdout().write_all(&script) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::failed(error)),
        _ => Ok(()),
    }
}

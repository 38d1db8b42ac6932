//! `candor token NAME`: creates a bearer token, and the line with which a server accepts it.

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use candor::auth::{BearerTokens, reserved};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
From the token to a call:
  candor token ada >> tokens               adds the line to the file; give the token to ada
  candor files DIR --tokens tokens         accepts callers with a token from the file
  candor tools :7332 --bearer-file FILE    ada, with the token in FILE")]
pub(crate) struct TokenArgs {
    /// The principal that the token identifies
    #[arg(value_parser = name)]
    name: String,

    /// Make the principal an operator: it reviews and sees the calls of all callers
    #[arg(long)]
    operator: bool,
}

/// Parses a name that a line of the file can hold, and that is not reserved for the server.
fn name(text: &str) -> Result<String, String> {
    let odd = |c: char| c.is_whitespace() || c.is_control();
    if text.is_empty() || text.contains(odd) || text.starts_with('#') {
        let problem = "a name has no spaces and does not begin with #; write one such as ada";
        return Err(problem.to_owned());
    }
    if let Some(whose) = reserved(text) {
        let problem = format!("this name is reserved for {whose}");
        return Err(format!("{problem}; use another, such as ada"));
    }
    Ok(text.to_owned())
}

pub(crate) fn run(args: &TokenArgs) -> candor::Result<()> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(candor::Error::new)?;
    let token = URL_SAFE_NO_PAD.encode(bytes);
    eprintln!("The token, shown once; give it to {}:", args.name);
    eprintln!("  {token}");
    eprintln!("The line for the file behind --tokens:");
    // Only the line goes to stdout, so that `candor token alice >> tokens` works.
    let role = if args.operator { " operator" } else { "" };
    writeln!(std::io::stdout(), "{}{role}", BearerTokens::line(&args.name, &token))?;
    Ok(())
}

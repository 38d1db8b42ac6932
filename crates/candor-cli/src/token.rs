//! `candor token NAME`: a new bearer token, and the line that lets it in.

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use candor::auth::{BearerTokens, is_reserved};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whom the token stands for
    name: String,

    /// It may decide about the calls of others, and see them
    #[arg(long)]
    operator: bool,
}

pub(crate) fn run(args: &Args) -> candor::Result<()> {
    if args.name.is_empty() || args.name.contains(char::is_whitespace) || args.name.starts_with('#')
    {
        return Err(candor::Error::new("a name has no spaces and does not begin with #"));
    }
    if is_reserved(&args.name) {
        let problem = format!("{} is a name of the server's own; take another", args.name);
        return Err(candor::Error::new(problem));
    }
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(candor::Error::new)?;
    let token = URL_SAFE_NO_PAD.encode(bytes);
    eprintln!("The token, shown once; give it to {}:", args.name);
    eprintln!("  {token}");
    eprintln!("The line for the file behind --tokens:");
    // The line alone goes to stdout, so that `candor token alice >> tokens` does what one hopes.
    let role = if args.operator { " operator" } else { "" };
    writeln!(std::io::stdout(), "{}{role}", BearerTokens::line(&args.name, &token))?;
    Ok(())
}

//! `candor new NAME`: a crate with a server, to begin with.

mod name;

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use candor::desk::shown::shown;

use crate::exit::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name of the crate, and of the folder that is made for it here
    name: String,

    /// Depend on the candor in this folder, not on the published one
    #[arg(long, value_name = "PATH")]
    candor_path: Option<PathBuf>,
}

macro_rules! template {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/templates/new/", $name))
    };
}

/// What is made, and of what. The templates have other names where cargo or git would take them for their own.
const FILES: [(&str, &str); 7] = [
    ("Cargo.toml", template!("manifest.toml")),
    ("src/main.rs", template!("src/main.rs")),
    ("src/notes.rs", template!("src/notes.rs")),
    ("src/tests.rs", template!("src/tests.rs")),
    (".mcp.json", template!("mcp.json")),
    (".gitignore", template!("gitignore")),
    ("README.md", template!("readme.md")),
];

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    name::check(&args.name).map_err(Failure::usage)?;
    let candor = dependency(args.candor_path.as_deref())?;
    let folder = Path::new(&args.name);
    let refused = |path: &Path, error: &io::Error| {
        Failure::failed(format!("{}: {error}", shown(&path.to_string_lossy())))
    };
    claim(folder)?;
    for (path, template) in FILES {
        let path = folder.join(path);
        let text = template
            .replace("{{name}}", &args.name)
            .replace("{{rust}}", env!("CARGO_PKG_RUST_VERSION"))
            .replace("{{candor}}", &candor);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| refused(parent, &error))?;
        }
        fs::write(&path, text).map_err(|error| refused(&path, &error))?;
    }
    let name = &args.name;
    if args.candor_path.is_none() {
        eprintln!(
            "It depends on candor {} of the registry; --candor-path names a clone instead.",
            env!("CARGO_PKG_VERSION")
        );
    }
    eprintln!(
        "Made {name}: a server with a tool that reads, a write that can be repeated, and their tests.\n\
         \n  cd {name}\
         \n  cargo test\
         \n  cargo run               # serves HTTP on this machine; open the console that it names\
         \n  cargo run -- --stdio    # serves a host that starts it, as .mcp.json says"
    );
    Ok(())
}

/// Makes the folder. One that is there and has something in it belongs to somebody.
fn claim(folder: &Path) -> Result<(), Failure> {
    let name = folder.display();
    let empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == ErrorKind::NotFound => true,
        Err(error) if error.kind() == ErrorKind::NotADirectory => false,
        Err(error) => return Err(Failure::failed(format!("{name}: {error}"))),
    };
    if !empty {
        return Err(Failure::failed(format!(
            "{name} is there already, and nothing of it is overwritten. Choose another name, or go to another folder"
        )));
    }
    fs::create_dir_all(folder).map_err(|error| Failure::failed(format!("{name}: {error}")))
}

/// How the manifest names us.
fn dependency(path: Option<&Path>) -> Result<String, Failure> {
    let Some(path) = path else { return Ok(format!("{:?}", env!("CARGO_PKG_VERSION"))) };
    let named = shown(&path.to_string_lossy()).to_string();
    let real = path
        .canonicalize()
        .map_err(|error| Failure::usage(format!("--candor-path {named}: {error}")))?;
    // Who has cloned all of it names that.
    let real = [real.join("crates/candor"), real].into_iter().find(|path| is_candor(path));
    let Some(real) = real else {
        return Err(Failure::usage(format!(
            "--candor-path {named}: the crate candor is not there; name its folder, or the clone that it is in"
        )));
    };
    let real = real
        .to_str()
        .ok_or_else(|| Failure::failed(format!("--candor-path {named}: the path is not UTF-8")))?;
    Ok(format!("{{ path = {} }}", crate::toml::string(real)))
}

fn is_candor(folder: &Path) -> bool {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    // Its program has the name, too.
    let package = manifest.lines().skip_while(|line| line.trim() != "[package]").skip(1);
    let mut package = package.take_while(|line| !line.trim_start().starts_with('['));
    package.any(|line| line.split_whitespace().eq(["name", "=", "\"candor\""]))
}

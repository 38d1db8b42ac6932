//! `candor new NAME`: creates a crate with a server to start from.

mod name;
mod workspace;

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use candor::operator::shown::shown;

use crate::exit::Failure;
use workspace::Workspace;

#[derive(Debug, clap::Args)]
pub(crate) struct NewArgs {
    /// The name of the crate, and of its new folder here
    name: String,

    /// Depend on the candor in this folder [default: the clone that built this program, or else the published crate]
    #[arg(long, value_name = "PATH")]
    candor_path: Option<PathBuf>,
}

macro_rules! template {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/templates/new/", $name))
    };
}

/// The files to create, and their templates. The templates have other names where cargo or git would use them as their own.
const FILES: [(&str, &str); 7] = [
    ("Cargo.toml", template!("manifest.toml")),
    ("src/main.rs", template!("src/main.rs")),
    ("src/notes.rs", template!("src/notes.rs")),
    ("src/tests.rs", template!("src/tests.rs")),
    (".mcp.json", template!("mcp.json")),
    (".gitignore", template!("gitignore")),
    ("README.md", template!("readme.md")),
];

pub(crate) fn run(args: &NewArgs) -> Result<(), Failure> {
    name::check(&args.name).map_err(Failure::usage)?;
    let candor = match &args.candor_path {
        Some(path) => Some(named(path)?),
        None => built_from(),
    };
    let dependency = dependency(candor.as_deref())?;
    let workspace = own_workspace(&args.name)?;
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
            .replace("{{candor}}", &dependency)
            .replace("{{workspace}}", workspace);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| refused(parent, &error))?;
        }
        fs::write(&path, text).map_err(|error| refused(&path, &error))?;
    }
    let name = &args.name;
    match &candor {
        Some(path) => {
            eprintln!("It depends on the candor in {}.", shown(&path.to_string_lossy()));
        }
        None => eprintln!(
            "It depends on candor {} from the registry; for a clone, use --candor-path.",
            env!("CARGO_PKG_VERSION")
        ),
    }
    eprintln!(
        "Created {name}: a server with a tool that reads, a write that is safe to retry, and their tests.\n\
         \n  cd {name}\
         \n  cargo test\
         \n  cargo run               # serves HTTP on this machine; open the console URL that it prints\
         \n  cargo run -- --stdio    # serves a host that starts it, as .mcp.json says"
    );
    Ok(())
}

/// Creates the folder. A folder that is not empty belongs to the user, so it is an error.
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
            "{name} already exists. Nothing was overwritten. Choose another name, or go to another folder"
        )));
    }
    fs::create_dir_all(folder).map_err(|error| Failure::failed(format!("{name}: {error}")))
}

/// Returns the crate that the user names.
fn named(path: &Path) -> Result<PathBuf, Failure> {
    let named = shown(&path.to_string_lossy()).to_string();
    let real = path
        .canonicalize()
        .map_err(|error| Failure::usage(format!("--candor-path {named}: {error}")))?;
    // The user may name the clone instead of the crate's folder.
    [real.join("crates/candor"), real].into_iter().find(|path| is_candor(path)).ok_or_else(|| {
        Failure::usage(format!(
            "--candor-path {named}: the crate candor is not there; name its folder, or the clone that it is in"
        ))
    })
}

/// Returns the crate next to the sources of this program, if they still exist. A program from the registry has none there.
fn built_from() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.join("candor");
    is_candor(&beside).then(|| beside.canonicalize().ok()).flatten()
}

/// Returns the dependency on candor, as the manifest writes it.
fn dependency(path: Option<&Path>) -> Result<String, Failure> {
    let Some(path) = path else { return Ok(format!("{:?}", env!("CARGO_PKG_VERSION"))) };
    let named = path.to_str().ok_or_else(|| {
        Failure::failed(format!("{}: the path is not UTF-8", shown(&path.to_string_lossy())))
    })?;
    Ok(format!("{{ path = {} }}", crate::toml::string(named)))
}

/// Returns the table that makes the new crate its own workspace, if the crate is inside another workspace and not a member of it.
fn own_workspace(name: &str) -> Result<&'static str, Failure> {
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).ok();
    let Some(here) = here else { return Ok("") };
    match Workspace::around(&here) {
        Some(workspace) if !workspace.takes(&here.join(name)) => Ok("\n[workspace]\n"),
        Some(_) if is_candor(&here.join("candor")) => Err(Failure::failed(format!(
            "{} holds the crates of candor's own workspace, and cargo treats each folder in it as one of them. Nothing was created. \
             Go to the root of the clone, or out of it",
            shown(&here.to_string_lossy())
        ))),
        None | Some(_) => Ok(""),
    }
}

fn is_candor(folder: &Path) -> bool {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    // Look only at the package: its program has the same name.
    let package = manifest.lines().skip_while(|line| line.trim() != "[package]").skip(1);
    let mut package = package.take_while(|line| !line.trim_start().starts_with('['));
    package.any(|line| line.split_whitespace().eq(["name", "=", "\"candor\""]))
}

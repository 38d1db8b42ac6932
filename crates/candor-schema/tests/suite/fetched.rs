//! The suite on disk. It is part of a Python package, which is downloaded once into the target directory; after that
//! nothing is fetched. `JSON_SCHEMA_TEST_SUITE` may name a checkout instead.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

/// The package in whose source the suite stands, and its digest.
const PACKAGE: &str = "jsonschema==4.26.0 \
     --hash=sha256:0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326";
const NAME: &str = "jsonschema-4.26.0";

static SUITE: LazyLock<PathBuf> = LazyLock::new(find);

pub(super) fn suite() -> &'static Path {
    &SUITE
}

/// The documents that schemas of a draft may refer to, with the addresses that they pretend to have.
pub(super) fn remotes(draft: &str) -> Vec<(String, Value)> {
    let root = suite().join("remotes");
    let old = draft >= "draft4";
    let mut found = Vec::new();
    for path in crate::files(&root) {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        // Schemas of schemas are not for us, and some without a draft in their path are for new drafts only.
        let other = name.starts_with("draft") && !name.starts_with(draft);
        let newer = old && !name.starts_with("draft") && text.contains("\"$d");
        if !other && !newer && !text.contains("/meta/") {
            let document = serde_json::from_str(&text).unwrap();
            found.push((format!("http://localhost:1234/{name}"), document));
        }
    }
    found
}

fn find() -> PathBuf {
    if let Some(checkout) = std::env::var_os("JSON_SCHEMA_TEST_SUITE") {
        return checkout.into();
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let suite = folder.join(NAME).join("json");
    if !suite.join("tests").is_dir() {
        fetch(folder);
    }
    suite
}

fn fetch(folder: &Path) {
    let work = folder.join(format!("{NAME}-{}", std::process::id()));
    std::fs::create_dir_all(&work).unwrap();
    let requirements = work.join("requirements.txt");
    std::fs::write(&requirements, PACKAGE).unwrap();
    let download = |python: &Path| {
        let pip = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"];
        let what = ["--no-deps", "--no-binary", ":all:", "--require-hashes", "--requirement"];
        let mut command = Command::new(python);
        succeeds(command.args(pip).args(what).arg(&requirements).arg("--dest").arg(&work))
    };
    // Some systems have Python without pip, but with the part that makes an environment that has it.
    let venv = work.join("venv");
    let fetched = download(Path::new("python3"))
        || (succeeds(Command::new("python3").args(["-m", "venv"]).arg(&venv))
            && download(&venv.join("bin").join("python")));
    let archive = work.join(format!("{NAME}.tar.gz"));
    let mut unpack = Command::new("python3");
    unpack.args(["-m", "tarfile", "--extract"]).arg(&archive).arg(&work);
    assert!(
        fetched && succeeds(&mut unpack),
        "the JSON-Schema-Test-Suite could not be fetched with python3 and pip; \
         set JSON_SCHEMA_TEST_SUITE to the directory of a checkout"
    );
    // In one step: another test may be at it, and half a suite would pass for one.
    let _ = std::fs::rename(work.join(NAME), folder.join(NAME));
    let _ = std::fs::remove_dir_all(&work);
}

fn succeeds(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

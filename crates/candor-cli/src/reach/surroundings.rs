//! Where a command runs: the folder, the home, what is set. Tests say something else.

use std::env;
use std::path::{Path, PathBuf};

use candor_ledger::default_path;

/// What is set under a name.
type Variables = dyn Fn(&str) -> Option<String>;

pub(crate) struct Surroundings {
    /// The folder that the command was called in.
    pub(crate) folder: PathBuf,
    pub(crate) home: Option<PathBuf>,
    /// Where programs of this system keep what people have set.
    pub(crate) settings: Option<PathBuf>,
    /// Where this program keeps what it has to remember.
    pub(crate) state: Option<PathBuf>,
    variables: Box<Variables>,
}

impl Surroundings {
    /// Those of this process.
    pub(crate) fn real() -> Self {
        let path = |name: &str| env::var_os(name).filter(|p| !p.is_empty()).map(PathBuf::from);
        let home = path("HOME").or_else(|| path("USERPROFILE"));
        let beneath = |folder: &str| home.as_ref().map(|home| home.join(folder));
        let settings = match env::consts::OS {
            "macos" => beneath("Library/Application Support"),
            "windows" => path("APPDATA").or_else(|| beneath("AppData/Roaming")),
            _ => path("XDG_CONFIG_HOME").or_else(|| beneath(".config")),
        };
        Self {
            // A folder that was deleted under us has no parents to look into.
            folder: env::current_dir().unwrap_or_default(),
            home,
            settings,
            // Beside the ledger.
            state: default_path().and_then(|ledger| ledger.parent().map(Path::to_owned)),
            variables: Box::new(|name| env::var(name).ok()),
        }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        (self.variables)(name)
    }

    #[cfg(test)]
    pub(crate) fn of_test(folder: PathBuf, home: PathBuf, set: &[(&str, &str)]) -> Self {
        let set: std::collections::HashMap<String, String> =
            set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self {
            folder,
            settings: Some(home.join(".config")),
            state: Some(home.join(".local/state/candor")),
            home: Some(home),
            variables: Box::new(move |name| set.get(name).cloned()),
        }
    }
}

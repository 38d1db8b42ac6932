//! What configuration files depend on: folders and variables.

use std::env;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

type Variables = dyn Fn(&str) -> Option<String> + Send + Sync;

/// The folders in which hosts keep their files, and the variables that these files name.
#[derive(Clone)]
pub struct Environment {
    /// The current folder. Files of projects are searched for here and in its parents.
    pub folder: PathBuf,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The settings folder of this system: `~/.config`, `%APPDATA%`.
    pub settings: Option<PathBuf>,
    variables: Arc<Variables>,
}

impl Environment {
    /// Returns the environment of this process.
    #[must_use]
    pub fn current() -> Self {
        let path = |name: &str| env::var_os(name).filter(|p| !p.is_empty()).map(PathBuf::from);
        let home = path("HOME").or_else(|| path("USERPROFILE"));
        let below = |folder: &str| home.as_ref().map(|home| home.join(folder));
        let settings = match env::consts::OS {
            "macos" => below("Library/Application Support"),
            "windows" => path("APPDATA").or_else(|| below("AppData/Roaming")),
            _ => path("XDG_CONFIG_HOME").or_else(|| below(".config")),
        };
        Self {
            // A deleted folder has no parents to search.
            folder: env::current_dir().unwrap_or_default(),
            home,
            settings,
            variables: Arc::new(|name| env::var(name).ok()),
        }
    }

    /// Returns an environment without a home and without variables.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let variables: Arc<Variables> = Arc::new(|_| None);
        Self { folder: folder.into(), home: None, settings: None, variables }
    }

    /// Sets the home, and the settings folder in it.
    #[must_use]
    pub fn home(mut self, home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        self.settings = Some(home.join(".config"));
        self.home = Some(home);
        self
    }

    /// Replaces the variables.
    #[must_use]
    pub fn variables<N: Into<String>, V: Into<String>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let pairs = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        let set: std::collections::HashMap<String, String> = pairs.collect();
        self.variables = Arc::new(move |name| set.get(name).cloned());
        self
    }

    /// Returns the value of a variable.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        (self.variables)(name)
    }
}

/// Omits the variables: some are secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("folder", &self.folder)
            .field("home", &self.home)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

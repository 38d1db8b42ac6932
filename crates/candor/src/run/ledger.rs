//! What remembers a server's calls, as the command line says; and the secret that stands beside it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use candor_server::store::{self, Options, Store, StoreError, default_path};

use super::args::{ServeArgs, in_file, read};
use crate::{Error, Result, Secret, Server};

/// What `--ledger` takes for a server that should remember nothing.
const NONE: &str = "none";

/// The server with its ledger and its secret.
pub(super) fn attach(server: Server, args: &ServeArgs) -> Result<Server> {
    let place = Place::of(args.ledger.as_deref());
    let (server, place) = match &place {
        None => (server, None),
        Some(place) => match place.open() {
            Ok(store) => {
                if place.is_forgotten() {
                    tracing::warn!(
                        "the ledger is in memory: keys are forgotten when this process ends"
                    );
                }
                (server.ledger(store), Some(place))
            }
            // Nobody asked for it, and nobody needs it. A server that only reads starts on a disk that is only read.
            Err(problem) if args.ledger.is_none() && server.wants_ledger().is_none() => {
                tracing::warn!(%problem, "calls are not remembered; --ledger says where they should be");
                (server, None)
            }
            Err(problem) => return Err(place.refused(server.wants_ledger(), &problem)),
        },
    };
    if let Some(tool) = server.wants_ledger() {
        return Err(Error::new(format!(
            "{tool} has idempotency keys, and somebody must remember them: leave --ledger none away"
        )));
    }
    let server = match secret(args, place)? {
        None => server,
        Some(secret) => server.secret(secret),
    };
    Ok(server.audit(args.audit.into()))
}

/// Where calls are remembered.
struct Place {
    url: String,
    /// The file, if it is one.
    path: Option<PathBuf>,
    given: bool,
}

impl Place {
    /// `None`: nowhere, because somebody said so.
    fn of(given: Option<&str>) -> Option<Self> {
        match given {
            Some(NONE) => None,
            Some(url) => {
                let path = url.strip_prefix("sqlite:");
                let path = path.map(|path| PathBuf::from(path.strip_prefix("//").unwrap_or(path)));
                Some(Self { url: url.to_owned(), path, given: true })
            }
            None => {
                let path = default_path();
                let url = path.as_ref().map(|path| format!("sqlite:{}", path.display()));
                Some(Self { url: url.unwrap_or_default(), path, given: false })
            }
        }
    }

    fn open(&self) -> std::result::Result<Arc<dyn Store>, StoreError> {
        if self.url.is_empty() {
            return Err(StoreError::Unavailable(
                "there is no home folder to keep it in".to_owned(),
            ));
        }
        store::open(&self.url, Options::default())
    }

    fn is_forgotten(&self) -> bool {
        self.url == "memory:"
    }

    /// Why a server does not start, and what to do. `wanted_by` is the tool whose calls must be remembered.
    fn refused(&self, wanted_by: Option<&str>, problem: &StoreError) -> Error {
        let mut problem = problem.to_string();
        if let Some(path) = self.path.as_ref().map(|path| path.display().to_string())
            && !problem.contains(&path)
        {
            problem = format!("{path}: {problem}");
        }
        match wanted_by {
            // Nobody has asked for this place, so it is said why there must be one.
            Some(tool) if !self.given => Error::new(format!(
                "{tool} has idempotency keys, and nobody can remember them: {problem}\n  say where calls should be remembered: \
                 --ledger sqlite:PATH, or memory: to forget them with this process"
            )),
            _ => Error::new(problem),
        }
    }

    /// The secret's file: beside the ledger, or where the ledger would be if it is a server elsewhere.
    fn secret(&self) -> Option<PathBuf> {
        match &self.path {
            Some(path) => {
                let mut name = path.clone().into_os_string();
                name.push(".secret");
                Some(name.into())
            }
            None if self.is_forgotten() => None,
            None => {
                tracing::warn!(
                    "servers that share a ledger must share a secret: give each the same --secret-file"
                );
                default_path().map(|path| path.with_file_name("secret"))
            }
        }
    }
}

/// The secret that was given, or that stands beside the ledger; made there if it does not yet.
fn secret(args: &ServeArgs, place: Option<&Place>) -> Result<Option<Secret>> {
    if let Some(path) = &args.secret_file {
        let text = read(path, "--secret-file")?;
        return Secret::from_lines(&text).map(Some).map_err(|e| in_file(path, e));
    }
    let Some(path) = place.and_then(Place::secret) else { return Ok(None) };
    let text = keep(&path).map_err(|e| in_file(&path, e))?;
    Secret::from_lines(&text).map(Some).map_err(|e| in_file(&path, e))
}

/// The text of the file, which is made if it is missing: for nobody but its owner, and whole or not at all. Of several
/// processes that make it at once, one wins, and all read the same.
fn keep(path: &Path) -> std::io::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        other => return other,
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    static DRAFTS: AtomicUsize = AtomicUsize::new(0);
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let mut draft = path.to_path_buf().into_os_string();
    draft.push(format!(".{}-{number}", std::process::id()));
    let draft = PathBuf::from(draft);
    let mut open = fs::OpenOptions::new();
    open.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
    let mut file = open.open(&draft)?;
    file.write_all(Secret::random_line().as_bytes())?;
    file.sync_all()?;
    // Unlike a renaming, a link does not take the place of what is there already.
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => fs::read_to_string(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_made_once_and_is_nobody_elses() {
        let folder = std::env::temp_dir().join(format!("candor-secret-{}", std::process::id()));
        let path = folder.join("ledger.db.secret");
        let made: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| keep(&path).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(made.iter().all(|text| *text == made[0]), "one wins");
        assert!(Secret::from_lines(&made[0]).is_ok());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no draft is left");
        fs::remove_dir_all(&folder).unwrap();
    }
}

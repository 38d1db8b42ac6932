//! Opens the ledger that the command line names, and the secret beside it.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::args::{ServeArgs, in_file, read};
use crate::store::{LedgerAddress, LedgerLimits, Options, StoreError, default_path, open_address};
use crate::{AskLevel, Error, Result, Secret, Server};

/// The value of `--ledger` for a server without a ledger.
const NONE: &str = "none";

/// Adds the ledger and the secret to a server.
pub(super) fn attach(server: Server, args: &ServeArgs) -> Result<Server> {
    let given = args.ledger.is_some();
    let opened =
        place(args.ledger.as_deref()).map_err(|problem| (None, problem)).and_then(|place| {
            let Some(place) = place else { return Ok(None) };
            let options = Options { rules: rules(args), ..Options::default() };
            match open_address(&place, options) {
                Ok(store) => Ok(Some((place, store))),
                Err(problem) => Err((Some(place), problem)),
            }
        });
    let (server, place) = match opened {
        Ok(None) => (server, None),
        Ok(Some((place, store))) => {
            if place == LedgerAddress::Memory {
                tracing::warn!("the ledger is in memory: its keys are lost when this process ends");
            }
            (server.ledger(store), Some(place))
        }
        // No flag names a ledger, and no tool or policy needs one. So a server that only reads also starts on a read-only disk.
        Err((_, problem))
            if !given && server.wants_ledger().is_none() && !server.wants_to_ask() =>
        {
            tracing::warn!(%problem, "calls are not stored; set a ledger with --ledger");
            (server, None)
        }
        Err((_, problem @ (StoreError::UnknownUrl(_) | StoreError::BadUrl(_)))) => {
            return Err(Error::usage(format!("--ledger: {problem}")));
        }
        Err((place, problem)) => {
            let wanted = (!given).then(|| wanted(&server)).flatten();
            return Err(refused(place.as_ref(), wanted, &problem));
        }
    };
    if let (None, Some(reason)) = (&place, wanted(&server)) {
        // `--ask never` would not help if the tools themselves ask for approval or have keys.
        let server = server.ask(AskLevel::Never);
        let or = if wanted(&server).is_none() { ", or add --ask never" } else { "" };
        return Err(Error::usage(format!("{reason}: leave out --ledger none{or}")));
    }
    let server = match secret(args, place.as_ref())? {
        None => server,
        Some(secret) => server.secret(secret),
    };
    Ok(server.audit(args.audit.into()).keep_arguments(args.keep_arguments.into()))
}

fn rules(args: &ServeArgs) -> LedgerLimits {
    let rules = LedgerLimits::default();
    LedgerLimits { lease: args.lease.unwrap_or(rules.lease), ..rules }
}

/// Returns why the server needs a ledger, if it does.
fn wanted(server: &Server) -> Option<String> {
    match server.wants_ledger() {
        Some(tool) => Some(format!("{tool} uses idempotency keys, which need a ledger")),
        None => server.wants_to_ask().then(|| {
            "the policy asks for approval, and approval requests need a ledger".to_owned()
        }),
    }
}

/// Returns the address from `--ledger`, or else the file in the state folder. Returns `None` for `--ledger none`.
fn place(given: Option<&str>) -> std::result::Result<Option<LedgerAddress>, StoreError> {
    match given {
        Some(NONE) => Ok(None),
        Some(text) => LedgerAddress::parse(text).map(Some),
        None => default_path()
            .map(|path| Some(LedgerAddress::File(path)))
            .ok_or_else(|| StoreError::Unavailable(format!("no state folder is named by {STATE}"))),
    }
}

/// The environment variables that set the state folder.
const STATE: &str = if cfg!(target_os = "macos") {
    "HOME"
} else if cfg!(windows) {
    "LOCALAPPDATA"
} else {
    "XDG_STATE_HOME or HOME"
};

/// Returns the error for a server that cannot start, and what to do. `wanted` is why it needs a ledger, if no flag names one.
fn refused(place: Option<&LedgerAddress>, wanted: Option<String>, problem: &StoreError) -> Error {
    let mut lines = problem.to_string();
    if let Some(place) = place.map(ToString::to_string)
        && !lines.contains(&place)
    {
        lines = format!("{place}: {lines}");
    }
    if let Some(LedgerAddress::File(path)) = place
        && let Some(obstacle) = obstacle(path)
    {
        lines.push_str(&format!("\n  {obstacle}"));
    }
    const ELSEWHERE: &str = "--ledger sqlite:PATH, or memory: to lose them when this process ends";
    let fix = match (&wanted, problem) {
        (Some(_), StoreError::Unavailable(_)) => {
            format!("fix the state folder ({STATE} sets it), or ")
        }
        _ => String::new(),
    };
    if let Some(wanted) = wanted {
        lines.push_str(&format!("\n  {wanted}"));
    }
    lines.push_str(&format!("\n  {fix}set another ledger: {ELSEWHERE}"));
    Error::new(lines)
}

/// Returns what prevents the creation of a file. The system's error does not name the folder.
fn obstacle(path: &Path) -> Option<String> {
    if path.is_dir() {
        return Some(format!("{} is a folder, and a file is needed there", path.display()));
    }
    let there = path.ancestors().skip(1).find(|folder| folder.exists())?;
    let name = there.display();
    if !there.is_dir() {
        return Some(format!("{name} is a file, and a folder is needed there"));
    }
    // If no folder is missing, the problem is another one.
    (path.parent() != Some(there)).then(|| format!("no folder can be made in {name}"))
}

/// Maximum number of taken names to skip for a draft.
const DRAFTS_TRIED: u32 = 100;

/// Returns the path of the secret: beside a ledger file, or in the state folder if the ledger is in a database server.
fn beside(place: &LedgerAddress) -> Option<PathBuf> {
    match place {
        LedgerAddress::Memory => None,
        LedgerAddress::File(path) => {
            let mut name = path.clone().into_os_string();
            name.push(".secret");
            Some(name.into())
        }
        LedgerAddress::Server(_) => {
            tracing::warn!(
                "servers that share a ledger must share a secret: give each the same --secret-file"
            );
            default_path().map(|path| path.with_file_name("secret"))
        }
    }
}

/// Returns the secret from `--secret-file`, or the one beside the ledger, which is created if it is missing.
fn secret(args: &ServeArgs, place: Option<&LedgerAddress>) -> Result<Option<Secret>> {
    if let Some(path) = &args.secret_file {
        let text = read(path, "--secret-file")?;
        return Secret::from_lines(&text).map(Some).map_err(|e| in_file(path, e));
    }
    let Some(path) = place.and_then(beside) else { return Ok(None) };
    let text = keep(&path).map_err(|e| {
        let next = "this file has the ledger's secret; --secret-file FILE sets another";
        in_file(&path, format!("{e}\n  {next}"))
    })?;
    Secret::from_lines(&text).map(Some).map_err(|e| in_file(&path, e))
}

/// Returns the text of the file, which is created if it is missing: readable for its owner only, and never in part. If several
/// processes create it at once, one wins, and all read the same text.
fn keep(path: &Path) -> std::io::Result<String> {
    match read_own(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        other => return other,
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let (draft, mut file) = draft(path)?;
    file.write_all(Secret::random_line().as_bytes())?;
    file.sync_all()?;
    // Unlike a rename, a hard link does not replace an existing file.
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => read_own(path),
    }
}

/// Creates a new file beside the path. It never touches an existing file or link of that name, nor the target of such a link.
fn draft(path: &Path) -> std::io::Result<(PathBuf, fs::File)> {
    static DRAFTS: AtomicUsize = AtomicUsize::new(0);
    let mut open = fs::OpenOptions::new();
    open.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
    let mut tries = 0;
    loop {
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let mut draft = path.to_path_buf().into_os_string();
        draft.push(format!(".{}-{number}", std::process::id()));
        let draft = PathBuf::from(draft);
        match open.open(&draft) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && tries < DRAFTS_TRIED => {
                tries += 1;
            }
            opened => return opened.map(|file| (draft, file)),
        }
    }
}

/// Reads a file that no other user can have written or read. A user that knows the secret could forge what the server trusts.
fn read_own(path: &Path) -> std::io::Result<String> {
    let file = fs::File::open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let found = file.metadata()?;
        let us = rustix::process::geteuid().as_raw();
        if let Some(problem) = exposed(found.uid(), found.mode(), us) {
            return Err(std::io::Error::new(ErrorKind::PermissionDenied, problem));
        }
    }
    std::io::read_to_string(file)
}

/// Returns why other users may know a file of this owner and mode, and what to do.
#[cfg(unix)]
fn exposed(owner: u32, mode: u32, us: u32) -> Option<String> {
    if owner != us && owner != 0 {
        return Some(format!(
            "belongs to another user (uid {owner}), who may know it: run the server as that user, or delete it, and the next start makes another"
        ));
    }
    (mode & 0o066 != 0).then(|| {
        format!(
            "others than its owner can read or write it (mode {:03o}): chmod 600 it; if others may have seen it, delete it, and the next start makes another",
            mode & 0o777
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ask_never_is_suggested_only_if_it_helps() {
        use candor_server::tool::{JsonTool, ToolError};
        let tool = |ask| {
            JsonTool::open("greet", |_args, _ctx| async { Ok::<_, ToolError>("Hello!") }).ask(ask)
        };
        let refused = |server: Server| {
            let args = ServeArgs { ledger: Some(NONE.to_owned()), ..ServeArgs::default() };
            attach(server, &args).err().unwrap().to_string()
        };
        let server = |of_tool| Server::new("greeter", "1.0.0").tool(tool(of_tool));
        let by_policy = refused(server(AskLevel::Never).ask(AskLevel::Writes));
        assert!(
            by_policy.ends_with(": leave out --ledger none, or add --ask never"),
            "{by_policy}"
        );
        for asking in [
            server(AskLevel::Always),
            server(AskLevel::Always).ask(AskLevel::Writes),
            server(AskLevel::Never).ask_for("greet", AskLevel::Always),
        ] {
            let by_tool = refused(asking);
            assert!(by_tool.ends_with(": leave out --ledger none"), "{by_tool}");
        }
    }

    #[test]
    fn concurrent_creation_yields_one_private_secret() {
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

    #[cfg(unix)]
    #[test]
    fn exposed_secret_file_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = std::env::temp_dir().join(format!("candor-known-{}", std::process::id()));
        let path = folder.join("ledger.db.secret");
        let made = keep(&path).unwrap();
        for mode in [0o640, 0o620, 0o604, 0o602, 0o666] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let problem = keep(&path).unwrap_err().to_string();
            assert!(problem.contains(&format!("(mode {mode:o}): chmod 600")), "{problem}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        assert_eq!(keep(&path).unwrap(), made);
        fs::remove_dir_all(&folder).unwrap();

        assert_eq!(exposed(1000, 0o100_600, 1000), None);
        assert_eq!(exposed(0, 0o100_600, 1000), None, "root can do all of this anyway");
        let problem = exposed(1001, 0o100_600, 1000).unwrap();
        assert!(problem.contains("uid 1001") && problem.contains("delete it"), "{problem}");
        assert!(exposed(1001, 0o100_600, 0).is_some(), "root refuses a file of another user");
    }

    #[cfg(unix)]
    #[test]
    fn secret_draft_never_overwrites_a_file() {
        let folder = std::env::temp_dir().join(format!("candor-draft-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("ledger.db.secret");
        let theirs = folder.join("theirs");
        fs::write(&theirs, "theirs").unwrap();
        // Other tests use the counter, too, so take all names from the next one on.
        let next = draft(&path).unwrap().0;
        fs::remove_file(&next).unwrap();
        let (stem, number) = next.to_str().unwrap().rsplit_once('-').unwrap();
        let number: usize = number.parse().unwrap();
        for n in number + 1..number + 40 {
            std::os::unix::fs::symlink(&theirs, format!("{stem}-{n}")).unwrap();
        }
        let made = keep(&path).unwrap();
        assert!(Secret::from_lines(&made).is_ok());
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs");
        fs::remove_dir_all(&folder).unwrap();
    }
}

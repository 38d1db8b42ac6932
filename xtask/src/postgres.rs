//! A temporary PostgreSQL for the tests, unless `DATABASE_URL` names one.
//!
//! Its programs come from the PATH or from Debian's folders. If they are missing, apt installs them. The package's own
//! cluster is not used.

use std::env;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::apt;
use crate::process::{self, Outcome};
use crate::workspace::Workspace;

/// The variable through which the tests find the database.
const URL: &str = "DATABASE_URL";

/// Tells the tests that a missing database is a failure.
const REQUIRED: (&str, &str) = ("CANDOR_TEST_POSTGRES", "required");

/// How long a new server may take to accept connections.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that runs as long as this value lives.
pub(crate) struct Postgres {
    /// `None` if `DATABASE_URL` names a server.
    ours: Option<Cluster>,
}

struct Cluster {
    url: String,
    programs: PathBuf,
    folder: PathBuf,
    user: Option<&'static str>,
    /// A direct child, without `pg_ctl start`, so that Ctrl-C ends it together with this program.
    server: Option<Child>,
}

impl Postgres {
    pub(crate) fn start(at: &Workspace) -> Outcome<Self> {
        if env::var_os(URL).is_some() {
            return Ok(Self { ours: None });
        }
        let programs = match programs() {
            Some(programs) => programs,
            None => process::timed("PostgreSQL (apt-get install, the first time only)", || {
                apt::install(at, "postgresql", missing)?;
                programs().ok_or_else(|| missing("its package has no `initdb` where we look"))
            })?,
        };
        process::timed("PostgreSQL for the tests", || {
            let user = user()?;
            let port = TcpListener::bind("127.0.0.1:0")
                .and_then(|listener| listener.local_addr())
                .map_err(|e| format!("there is no free port: {e}"))?
                .port();
            let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
            let folder = folder(at, user)?;
            // From here on, `drop` cleans up after every failure.
            let mut cluster = Cluster { url, programs, folder, user, server: None };
            cluster.start(at, port)?;
            Ok(Self { ours: Some(cluster) })
        })
    }

    /// Returns the environment variables for the tests.
    pub(crate) fn settings(&self) -> Vec<(&str, &str)> {
        let ours = self.ours.iter().map(|cluster| (URL, cluster.url.as_str()));
        ours.chain([REQUIRED]).collect()
    }

    /// Returns a note for a developer who wants to repeat a failed test.
    pub(crate) fn note(&self) -> &'static str {
        match &self.ours {
            Some(_) => {
                "That PostgreSQL is stopped by now; `cargo xtask check --fast` has another.\n"
            }
            None => "",
        }
    }
}

impl Cluster {
    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut command = match self.user {
            None => Command::new(program),
            Some(user) => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid", user, "--clear-groups", "--"]).arg(program);
                command
            }
        };
        command.current_dir(&self.folder).stdin(Stdio::null()).arg("-D").arg(self.data());
        command
    }

    fn start(&mut self, at: &Workspace, port: u16) -> Outcome {
        let mut init = self.command("initdb");
        init.args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"]);
        process::quietly(init.arg("--no-sync"), &at.log("postgres-initdb"))?;
        // The data is temporary, so it need not be durable. The tests of outages start their own server.
        let mut server = self.command("postgres");
        server.args(["-p", &port.to_string(), "-h", "127.0.0.1"]);
        for setting in ["unix_socket_directories=", "fsync=off", "max_connections=200"] {
            server.args(["-c", setting]);
        }
        let log = at.log("postgres");
        let output =
            process::create(&log).map_err(|e| format!("cannot write {}: {e}", log.display()))?;
        let server = server.stdout(Stdio::null()).stderr(output).spawn();
        let server =
            self.server.insert(server.map_err(|e| format!("cannot start PostgreSQL: {e}"))?);
        let begun = Instant::now();
        loop {
            let state =
                fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap_or_default();
            if state.lines().last().is_some_and(|state| state.trim() == "ready") {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE || !matches!(server.try_wait(), Ok(None)) {
                return Err(format!("PostgreSQL does not start:\n{}", process::end_of(&log)));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Stops the server, even after failed tests.
impl Drop for Cluster {
    fn drop(&mut self) {
        let mut stop = self.command("pg_ctl");
        stop.args(["-w", "-m", "immediate", "stop"]).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(mut server) = self.server.take() {
            if !stop.status().is_ok_and(|status| status.success()) {
                let _ = server.kill();
            }
            let _ = server.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Creates the folder: under the target directory, or, for another user, under the temporary files. That user may have
/// no access to the target directory.
fn folder(at: &Workspace, user: Option<&str>) -> Outcome<PathBuf> {
    let name = format!("candor-postgres-{}", std::process::id());
    let folder = match user {
        None => at.target.join("tmp").join(name),
        Some(_) => env::temp_dir().join(name),
    };
    fs::create_dir_all(&folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    if let Some(user) = user {
        process::answer(Command::new("chown").arg(user).arg(&folder))?;
    }
    Ok(folder)
}

/// Returns the folder of `initdb` and `pg_ctl`: the newest, if there are several.
fn programs() -> Option<PathBuf> {
    let has_both = |folder: &PathBuf| {
        ["initdb", "pg_ctl"].iter().all(|program| folder.join(program).is_file())
    };
    let path = env::var_os("PATH")?;
    if let Some(found) = env::split_paths(&path).find(has_both) {
        return Some(found);
    }
    let version = |folder: &Path| folder.file_name()?.to_str()?.parse::<u32>().ok();
    let mut of_debian: Vec<PathBuf> =
        fs::read_dir("/usr/lib/postgresql").ok()?.flatten().map(|found| found.path()).collect();
    of_debian.sort_by_key(|folder| version(folder));
    of_debian.iter().rev().map(|folder| folder.join("bin")).find(has_both)
}

/// Returns the user that runs the server, because PostgreSQL refuses to run as root.
fn user() -> Outcome<Option<&'static str>> {
    if !apt::is_root()? {
        return Ok(None);
    }
    let is_there = |user: &&str| process::answer(Command::new("id").arg(user)).is_ok();
    ["postgres", "nobody"].into_iter().find(is_there).map(Some).ok_or_else(|| {
        missing("it does not run as root, and there is no user `postgres` or `nobody`")
    })
}

fn missing(why: &str) -> String {
    format!(
        "The tests need a PostgreSQL: {why}. Install it (on Debian the package `postgresql`), or name one that they may make \
         schemas in:\n\n    {URL}=postgres://USER@HOST/DATABASE cargo xtask check\n"
    )
}

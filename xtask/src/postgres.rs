//! A PostgreSQL for the tests: made, started, and thrown away.
//!
//! Unless `DATABASE_URL` names one already. Its programs are looked for on the PATH and where Debian puts them, and installed with apt
//! if they are not there; the cluster that the package makes for itself is neither needed nor touched.

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

/// What the tests find it by.
const URL: &str = "DATABASE_URL";

/// Tells the tests that a missing database is a failure.
const REQUIRED: (&str, &str) = ("CANDOR_TEST_POSTGRES", "required");

/// How long a new server may take until it lets somebody in.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server for as long as this lives.
pub(crate) struct Postgres {
    /// `None`: whoever called us has named one.
    ours: Option<Cluster>,
}

struct Cluster {
    url: String,
    programs: PathBuf,
    folder: PathBuf,
    user: Option<&'static str>,
    /// Not behind `pg_ctl start`: it ends with us when somebody presses Ctrl-C.
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
            // Whole from here on: what fails below still clears up.
            let mut cluster = Cluster { url, programs, folder, user, server: None };
            cluster.start(at, port)?;
            Ok(Self { ours: Some(cluster) })
        })
    }

    /// What its users need in their environment.
    pub(crate) fn settings(&self) -> Vec<(&str, &str)> {
        let ours = self.ours.iter().map(|cluster| (URL, cluster.url.as_str()));
        ours.chain([REQUIRED]).collect()
    }

    /// For who would repeat what failed.
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
        // What it keeps is thrown away, so it need not be durable. The tests of outages have one of their own.
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

/// Also when the tests have failed.
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

/// Under the target directory; as another user, who may not even enter that, among the temporary files.
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

/// The folder of `initdb` and `pg_ctl`, the latest where there are several.
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

/// Who it runs as: PostgreSQL refuses to be root.
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

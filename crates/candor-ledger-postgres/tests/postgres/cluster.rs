//! A PostgreSQL of the test's own, to be stopped and started as it likes.

use std::env;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::database;
use crate::helpers::Folder;

pub(crate) struct Cluster {
    folder: Folder,
    port: u16,
}

impl Cluster {
    /// Made, and not started yet, with these lines in its configuration. `None`: PostgreSQL is not installed here, and whoever runs
    /// the tests is told so.
    pub(crate) fn make(test: &str, settings: &str) -> Option<Self> {
        if programs().is_none() {
            database::skipped(test, "PostgreSQL's `initdb` and `pg_ctl` are not on the PATH");
            return None;
        }
        let folder = Folder::new();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let this = Self { folder, port };
        fs::create_dir_all(this.data()).unwrap();
        this.give_away(&this.folder.join(""));
        this.give_away(&this.data());
        let init = ["--auth=trust", "--username=postgres", "--no-sync", "--no-instructions"];
        this.run("initdb", &[&init[..], &["--encoding=UTF8", "--locale=C"]].concat());
        let conf = this.data().join("postgresql.conf");
        let lines = format!(
            "{}\nlisten_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = ''\n{settings}\n",
            fs::read_to_string(&conf).unwrap()
        );
        fs::write(conf, lines).unwrap();
        Some(this)
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    pub(crate) fn up(&self) {
        let log = self.data().join("log");
        self.run("pg_ctl", &["--wait", "--log", &log.display().to_string(), "start"]);
    }

    /// As if its machine had lost power.
    pub(crate) fn down(&self) {
        self.run("pg_ctl", &["--wait", "--mode=immediate", "stop"]);
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let ended = as_user(&programs().unwrap().join(program))
            .args(arguments)
            .env("PGDATA", self.data())
            .current_dir(self.data())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(ended.success(), "{program} {arguments:?}: {ended}");
    }

    /// PostgreSQL refuses to run as root, and to use what is not its own.
    pub(crate) fn give_away(&self, path: &Path) {
        if let Some(user) = user() {
            assert!(Command::new("chown").arg(user).arg(path).status().unwrap().success());
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.data().join("postmaster.pid").exists() {
            self.down();
        }
    }
}

/// Where `initdb` and `pg_ctl` are.
fn programs() -> Option<PathBuf> {
    let on_path = env::split_paths(&env::var_os("PATH")?).collect::<Vec<_>>();
    let of_debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let of_debian = of_debian.map(|version| version.path().join("bin"));
    on_path
        .into_iter()
        .chain(of_debian)
        .find(|folder| folder.join("initdb").is_file() && folder.join("pg_ctl").is_file())
}

/// Who it runs as, if that cannot be ourselves.
fn user() -> Option<&'static str> {
    let id = Command::new("id").arg("-u").output().unwrap().stdout;
    if id.trim_ascii() != b"0" {
        return None;
    }
    let is_there = |user: &&str| {
        Command::new("id").arg(user).output().is_ok_and(|output| output.status.success())
    };
    ["postgres", "nobody"].into_iter().find(is_there)
}

fn as_user(program: &Path) -> Command {
    match user() {
        None => Command::new(program),
        Some(user) => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", user, "--clear-groups", "--"]).arg(program);
            command
        }
    }
}

//! A pseudo-terminal with the program at it, and a person who reads before they type.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Whoever takes this long never will.
const LONG: Duration = Duration::from_secs(20);

pub(crate) struct Terminal {
    child: Child,
    typing: File,
    heard: Arc<Mutex<Vec<u8>>>,
    hearing: Option<JoinHandle<()>>,
}

impl Terminal {
    /// Starts the program with stdin, stdout and stderr at a new terminal.
    pub(crate) fn of(command: Command) -> Self {
        Self::sized(command, 0)
    }

    /// The same at a terminal with so many columns; 0: it does not say.
    pub(crate) fn sized(mut command: Command, columns: u16) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&ours, size).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let name = std::ffi::OsStr::from_bytes(name.as_bytes());
        let theirs = || -> Stdio { open(name).into() };
        let child = command.stdin(theirs()).stdout(theirs()).stderr(theirs()).spawn().unwrap();
        // It holds the other end, which must be theirs alone for us to hear the end.
        drop(command);
        let mut hears = File::from(ours);
        let typing = hears.try_clone().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&heard);
        let hearing = thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(len @ 1..) = hears.read(&mut part) {
                into.lock().unwrap().extend(&part[..len]);
            }
        });
        Self { child, typing, heard, hearing: Some(hearing) }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.heard.lock().unwrap()).replace('\r', "")
    }

    /// Waits until it stands there, this often.
    pub(crate) fn says_times(&self, text: &str, times: usize) {
        let begun = Instant::now();
        while self.text().matches(text).count() < times {
            assert!(begun.elapsed() < LONG, "no {text:?} in {}", self.text());
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn says(&self, text: &str) {
        self.says_times(text, 1);
    }

    pub(crate) fn types(&mut self, line: &str) {
        writeln!(self.typing, "{line}").unwrap();
    }

    /// How it ended, and all that stood there.
    pub(crate) fn ended(mut self) -> (Option<i32>, String) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < LONG, "it does not end: {}", self.text());
            thread::sleep(Duration::from_millis(10));
        };
        self.hearing.take().unwrap().join().unwrap();
        (status.code(), self.text())
    }

    /// Ends it as Ctrl-C does.
    pub(crate) fn interrupt(self) -> String {
        self.interrupted().1
    }

    /// The same, and how it ended.
    pub(crate) fn interrupted(self) -> (Option<i32>, String) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        self.ended()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn open(name: &std::ffi::OsStr) -> File {
    OpenOptions::new().read(true).write(true).open(name).unwrap()
}

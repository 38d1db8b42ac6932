//! One client over pipes.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::process::ChildStdout;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use memchr::memmem;
use serde_json::{Value, json};

use super::Outcome;
use super::server::{Awake, Server};
use crate::message::{self, ECHO, MARK};

/// Before anything is measured.
const WARM_UP: u64 = 500;

/// Calls under way at once, when they are not made one by one.
const WINDOW: usize = 200;

/// Longer than any answer.
const MOST_BYTES: u64 = 64 * 1024;

/// One call after the other: each waits for its answer.
pub fn sequential(calls: u64, mode: &[String]) -> Outcome<Value> {
    let mut server = Server::start_stdio(mode)?;
    let mut input = server.child.stdin.take().ok_or("no stdin")?;
    let mut output = Answers::of(server.child.stdout.take());
    let (mut took, mut before) = (Vec::new(), Duration::ZERO);
    for id in 0..WARM_UP + calls {
        if id == WARM_UP {
            before = server.cpu()?;
        }
        let line = line(id);
        let start = Instant::now();
        input.write_all(&line)?;
        if output.next()? != id {
            return Err(format!("an answer to another call than {id}").into());
        }
        if id >= WARM_UP {
            took.push(start.elapsed());
        }
    }
    took.sort_unstable();
    let us = |share: f64| {
        let at = (took.len() as f64 * share) as usize;
        took.get(at).map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)
    };
    let cpu_us = (server.cpu()? - before).as_secs_f64() * 1e6 / calls as f64;
    // The median: a call during which the machine did something else says nothing of the server.
    Ok(json!({"us": us(0.5), "p99_us": us(0.99), "cpu_us": cpu_us, "calls": calls}))
}

/// The same on a core that does not fall asleep between two calls.
pub fn awake(calls: u64, mode: &[String]) -> Outcome<Value> {
    let awake = Awake::keep();
    let mut figures = sequential(calls, mode)?;
    figures["awake"] = json!(awake.is_kept());
    Ok(figures)
}

/// Many calls under way at once; the server's memory before, halfway and after.
pub fn pipelined(calls: u64, mode: &[String]) -> Outcome<Value> {
    let mut server = Server::start_stdio(mode)?;
    let mut input = server.child.stdin.take().ok_or("no stdin")?;
    let mut output = Answers::of(server.child.stdout.take());
    // A first answer, so that what every server needs once is there before.
    input.write_all(&line(calls))?;
    output.next()?;
    let mut resident = vec![server.resident_mb()?];

    let start = Instant::now();
    let (answered, answers): (SyncSender<()>, Receiver<()>) = sync_channel(WINDOW);
    let asking = thread::spawn(move || -> Outcome<()> {
        for id in 0..calls {
            if id >= WINDOW as u64 {
                answers.recv()?;
            }
            input.write_all(&line(id))?;
        }
        Ok(())
    });
    let mut open = vec![true; usize::try_from(calls)?];
    for n in 0..calls {
        let id = usize::try_from(output.next()?)?;
        if !open.get_mut(id).is_some_and(|open| std::mem::replace(open, false)) {
            return Err(
                format!("an answer to {id}, which was not asked or has been answered").into()
            );
        }
        // Nobody waits for the last of them.
        answered.send(()).ok();
        if n + 1 == calls / 2 {
            resident.push(server.resident_mb()?);
        }
    }
    let took = start.elapsed();
    resident.push(server.resident_mb()?);
    asking.join().map_err(|_| "the client panicked")??;
    Ok(json!({
        "resident_mb": resident,
        "calls": calls,
        "per_second": calls as f64 / took.as_secs_f64(),
    }))
}

fn line(id: u64) -> Vec<u8> {
    format!("{}\n", message::modern_call(id, ECHO)).into_bytes()
}

/// What a server answers, line by line.
struct Answers {
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    id_member: memmem::Finder<'static>,
    expected: memmem::Finder<'static>,
}

impl Answers {
    fn of(output: Option<ChildStdout>) -> Self {
        Self {
            output: BufReader::new(output.expect("stdout is piped")),
            line: Vec::new(),
            id_member: memmem::Finder::new(r#""id":"#),
            expected: memmem::Finder::new(MARK),
        }
    }

    /// The id of the next answer, which has been found right.
    fn next(&mut self) -> Outcome<u64> {
        self.line.clear();
        (&mut self.output).take(MOST_BYTES).read_until(b'\n', &mut self.line)?;
        let wrong = || format!("a wrong answer: {}", String::from_utf8_lossy(&self.line));
        if self.expected.find(&self.line).is_none() {
            return Err(wrong().into());
        }
        let at = self.id_member.find(&self.line).ok_or_else(wrong)? + self.id_member.needle().len();
        let rest = &self.line[at..];
        let end = rest.iter().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len());
        Ok(std::str::from_utf8(&rest[..end])?.parse()?)
    }
}

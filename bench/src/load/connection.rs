//! One client: a connection that is kept, and one request on it at a time.

use std::net::Ipv4Addr;

use memchr::memmem;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::reply::{Head, Length, take_chunks};
use super::{Outcome, Scenario, scenario};

/// A client that is ready to ask.
pub(super) struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    expected: Vec<memmem::Finder<'static>>,
    /// What has been read of the answer.
    read: Vec<u8>,
    /// The body of an answer that came in chunks.
    body: Vec<u8>,
}

impl Connection {
    /// Connects, and opens a session if the scenario has one.
    pub(super) async fn open(port: u16, scenario: Scenario) -> Outcome<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        stream.set_nodelay(true)?;
        let expected = scenario.expected().iter().map(memmem::Finder::new).collect();
        let mut connection =
            Self { stream, request: Vec::new(), expected, read: Vec::new(), body: Vec::new() };
        let session =
            if scenario.opens_session() { Some(connection.open_session().await?) } else { None };
        connection.request = scenario.request(session.as_deref());
        Ok(connection)
    }

    async fn open_session(&mut self) -> Outcome<String> {
        self.stream.write_all(&scenario::initialize()).await?;
        let head = self.answer().await?;
        let session = head.session.filter(|_| head.status == 200);
        let session = session.ok_or("`initialize` did not open a session")?;
        self.stream.write_all(&scenario::initialized(&session)).await?;
        match self.answer().await?.status {
            202 => Ok(session),
            status => Err(format!("`notifications/initialized` was answered {status}").into()),
        }
    }

    /// Asks once, and looks at the answer.
    pub(super) async fn ask(&mut self) -> Outcome<()> {
        self.stream.write_all(&self.request).await?;
        let head = self.answer().await?;
        let body = match head.length {
            Length::Bytes(_) => &self.read[head.end..],
            Length::Chunked => &self.body,
        };
        if head.status == 200 && self.expected.iter().all(|text| text.find(body).is_some()) {
            return Ok(());
        }
        let body = String::from_utf8_lossy(&body[..body.len().min(2000)]).into_owned();
        Err(format!("a wrong answer, with status {}: {body}", head.status).into())
    }

    /// Reads one answer to its end.
    async fn answer(&mut self) -> Outcome<Head> {
        self.read.clear();
        let head = loop {
            self.more().await?;
            if let Some(head) = Head::read(&self.read)? {
                break head;
            }
        };
        match head.length {
            Length::Bytes(length) => {
                let end = head.end + length;
                self.read.reserve(end.saturating_sub(self.read.len()));
                while self.read.len() < end {
                    self.more().await?;
                }
                self.nothing_after(end)?;
            }
            Length::Chunked => {
                self.body.clear();
                let mut at = head.end;
                loop {
                    let (taken, last) = take_chunks(&self.read[at..], &mut self.body)?;
                    at += taken;
                    if last {
                        break;
                    }
                    self.more().await?;
                }
                self.nothing_after(at)?;
            }
        }
        Ok(head)
    }

    fn nothing_after(&self, end: usize) -> Outcome<()> {
        if self.read.len() == end {
            Ok(())
        } else {
            Err("the server sent more than one answer".into())
        }
    }

    async fn more(&mut self) -> Outcome<()> {
        if self.read.capacity() - self.read.len() < 4096 {
            self.read.reserve(16 * 1024);
        }
        match self.stream.read_buf(&mut self.read).await? {
            0 => Err("the server hung up in the middle of an answer".into()),
            _ => Ok(()),
        }
    }
}

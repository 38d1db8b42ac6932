//! Reads server-sent events from a body as they arrive.

use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Incoming};

use crate::error::Error;

/// A reader of an event stream.
pub(crate) struct Events<B = Incoming> {
    body: B,
    buffer: BytesMut,
    /// How far the buffer was searched for the end of a line.
    searched: usize,
    /// The maximum size of an event, in bytes.
    limit: usize,
    /// The id of the last event, to resume the stream there.
    pub(crate) last_id: Option<String>,
    /// How long to wait before the client resumes the stream, if the server said so.
    pub(crate) retry: Option<Duration>,
    data: Vec<u8>,
    any_data: bool,
    /// The last line ended with a carriage return, so a line feed right after it belongs to it.
    after_return: bool,
    begun: bool,
}

impl<B> Events<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    pub(crate) fn new(body: B, limit: usize) -> Self {
        Self {
            body,
            buffer: BytesMut::new(),
            searched: 0,
            limit,
            last_id: None,
            retry: None,
            data: Vec::new(),
            any_data: false,
            after_return: false,
            begun: false,
        }
    }

    /// Returns the data of the next event that has any, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        loop {
            while let Some(line) = self.line() {
                if let Some(event) = self.take(&line)? {
                    return Ok(Some(event));
                }
            }
            if self.buffer.len() > self.limit {
                return Err(Error::message_too_large(self.limit));
            }
            match self.body.frame().await {
                // An incomplete event does not count.
                None => return Ok(None),
                Some(Err(error)) => return Err(Error::Lost { why: error.to_string(), sent: true }),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
            }
        }
    }

    /// Checks, after the last event that the client needs, whether the stream has ended. If so, its connection can be reused.
    pub(crate) fn finish(mut self) {
        use futures_util::FutureExt as _;
        while let Some(Some(Ok(_))) = self.body.frame().now_or_never() {}
    }

    fn line(&mut self) -> Option<Bytes> {
        if !self.begun && self.buffer.len() >= 3 {
            self.begun = true;
            if self.buffer.starts_with(b"\xef\xbb\xbf") {
                self.buffer.advance(3);
                self.searched = 0;
            }
        }
        if self.after_return && !self.buffer.is_empty() {
            self.after_return = false;
            if self.buffer[0] == b'\n' {
                self.buffer.advance(1);
            }
        }
        let end = self.buffer[self.searched..].iter().position(|b| matches!(b, b'\n' | b'\r'));
        let Some(end) = end else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched + end;
        (self.searched, self.begun) = (0, true);
        let mut line = self.buffer.split_to(end + 1).freeze();
        self.after_return = line[end] == b'\r';
        line.truncate(end);
        Some(line)
    }

    /// Processes a line. Returns the event that the line completes.
    fn take(&mut self, line: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        if line.is_empty() {
            let ended = std::mem::take(&mut self.any_data);
            let data = std::mem::take(&mut self.data);
            // An event without data only sets the id to resume from.
            return Ok(Some(data).filter(|data| ended && !data.is_empty()));
        }
        let (name, value) = match line.iter().position(|b| *b == b':') {
            Some(0) => return Ok(None),
            Some(at) => (&line[..at], line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..])),
            None => (line, &[][..]),
        };
        match name {
            b"data" => {
                if std::mem::replace(&mut self.any_data, true) {
                    self.data.push(b'\n');
                }
                if self.data.len() + value.len() > self.limit {
                    return Err(Error::message_too_large(self.limit));
                }
                self.data.extend_from_slice(value);
            }
            b"id" if !value.contains(&0) && value.len() <= 4096 => {
                self.last_id = String::from_utf8(value.to_vec()).ok().filter(|id| !id.is_empty());
            }
            b"retry" => {
                let millis = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.retry = millis.map(Duration::from_millis).or(self.retry);
            }
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use proptest::prelude::*;

    /// Returns all events of a text that arrives in these pieces.
    fn read(
        pieces: &[&[u8]],
        limit: usize,
    ) -> (Vec<String>, Option<String>, Option<Duration>, bool) {
        let frames: Vec<Result<_, std::io::Error>> =
            pieces.iter().map(|piece| Ok(Frame::data(Bytes::copy_from_slice(piece)))).collect();
        let mut events = Events::new(StreamBody::new(stream::iter(frames)), limit);
        let mut data = Vec::new();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let failed = runtime.block_on(async {
            loop {
                match events.next().await {
                    Ok(Some(event)) => data.push(String::from_utf8(event).unwrap()),
                    Ok(None) => return false,
                    Err(_) => return true,
                }
            }
        });
        (data, events.last_id.clone(), events.retry, failed)
    }

    const STREAM: &str = "\u{feff}: a comment\n\nid: 1\ndata: {\"a\":\ndata:  1}\n\nevent: message\r\ndata: two\r\nid: 2\r\n\r\n\
        retry: 250\rdata\r\rid:\ndata:three\n\nid: 3\ndata:\n\nunknown: x\nretry: soon\ndata: four\n\ndata: cut off\n";

    #[test]
    fn sse_parser_follows_the_standard() {
        let (data, id, retry, failed) = read(&[STREAM.as_bytes()], 1000);
        assert_eq!(
            data,
            ["{\"a\":\n 1}", "two", "three", "four"],
            "no event without data, none that is cut off"
        );
        assert_eq!(
            (id.as_deref(), retry, failed),
            (Some("3"), Some(Duration::from_millis(250)), false)
        );
    }

    #[test]
    fn sse_event_above_the_limit_fails() {
        let line = format!("data: {}\n\n", "x".repeat(200));
        assert!(read(&[line.as_bytes()], 100).3);
        assert!(
            read(&["x".repeat(101).as_bytes(), b"x"], 100).3,
            "also before there is an end of a line"
        );
        assert!(
            read(&["data: 0123456789\n".repeat(20).as_bytes(), b"\n"], 100).3,
            "also line by line"
        );
    }

    proptest! {
        #[test]
        fn sse_parser_result_does_not_depend_on_chunks(cuts in proptest::collection::vec(0..STREAM.len(), 0..8)) {
            let mut cuts = cuts;
            cuts.extend([0, STREAM.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|w| &STREAM.as_bytes()[w[0]..w[1]]).collect();
            prop_assert_eq!(read(&pieces, 1000), read(&[STREAM.as_bytes()], 1000));
        }
    }
}

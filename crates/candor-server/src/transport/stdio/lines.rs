//! Lines of bounded length from a byte stream.

use tokio::io::{AsyncRead, AsyncReadExt};

const CHUNK: usize = 16 * 1024;

/// A line of input.
pub(super) enum InputLine<'a> {
    /// A line without its line break.
    Complete(&'a [u8]),
    /// Longer than allowed; it has been skipped.
    TooLong,
}

/// Reads lines. Never holds more than one line and a chunk.
pub(super) struct Lines<R> {
    input: R,
    most: usize,
    buffer: Vec<u8>,
    /// Where the unread part of the buffer begins.
    start: usize,
    /// The position up to which the unread part has been searched for a line break.
    searched: usize,
    skipping: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(input: R, most: usize) -> Self {
        Self { input, most, buffer: Vec::new(), start: 0, searched: 0, skipping: false }
    }

    /// Returns the next line that is not empty, or `None` at the end of the input. The last line needs no line break.
    pub(super) async fn next(&mut self) -> std::io::Result<Option<InputLine<'_>>> {
        loop {
            while let Some(at) = self.buffer[self.searched..].iter().position(|b| *b == b'\n') {
                let (from, to) = (self.start, self.searched + at);
                self.start = to + 1;
                self.searched = self.start;
                let skipped = std::mem::take(&mut self.skipping);
                if skipped || to - from > self.most {
                    return Ok(Some(InputLine::TooLong));
                }
                if !self.buffer[from..to].trim_ascii().is_empty() {
                    return Ok(Some(InputLine::Complete(&self.buffer[from..to])));
                }
            }
            self.make_room();
            let before = self.buffer.len();
            self.buffer.reserve(CHUNK);
            if self.input.read_buf(&mut self.buffer).await? == 0 {
                let (from, to) = (self.start, before);
                self.start = to;
                self.searched = to;
                if std::mem::take(&mut self.skipping) {
                    return Ok(Some(InputLine::TooLong));
                }
                let rest = &self.buffer[from..to];
                return Ok((!rest.trim_ascii().is_empty()).then_some(InputLine::Complete(rest)));
            }
        }
    }

    /// Drops what has been read, and a line that is too long.
    fn make_room(&mut self) {
        self.buffer.drain(..self.start);
        self.start = 0;
        if self.buffer.len() > self.most {
            self.skipping = true;
            self.buffer.clear();
        }
        if self.buffer.is_empty() {
            // A huge line must not keep its memory for the rest of the connection.
            self.buffer.shrink_to(CHUNK * 4);
        }
        self.searched = self.buffer.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    async fn all(text: &[u8], most: usize) -> Vec<Option<Vec<u8>>> {
        let mut lines = Lines::new(text, most);
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            found.push(match line {
                InputLine::Complete(line) => Some(line.to_vec()),
                InputLine::TooLong => None,
            });
        }
        found
    }

    #[tokio::test]
    async fn overlong_line_is_skipped_and_the_next_is_read() {
        let text =
            [b"short\n".to_vec(), vec![b'x'; 100_000], b"\n\n  \nafter\nend".to_vec()].concat();
        let found = all(&text, 50_000).await;
        assert_eq!(
            found,
            [Some(b"short".to_vec()), None, Some(b"after".to_vec()), Some(b"end".to_vec())]
        );
    }

    proptest! {
        #[test]
        fn lines_split_like_the_standard_library(text in "[a\n ]{0,200}") {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let found = runtime.block_on(all(text.as_bytes(), 1000));
            let expected: Vec<_> = text.split('\n').filter(|l| !l.trim().is_empty()).map(|l| Some(l.as_bytes().to_vec())).collect();
            prop_assert_eq!(found, expected);
        }
    }
}

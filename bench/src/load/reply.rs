//! Answers of HTTP/1.1, read to their last byte: with a length, or in chunks.

use memchr::memmem;

use super::Outcome;

/// The head of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) session: Option<String>,
    pub(super) length: Length,
    /// Where the body begins.
    pub(super) end: usize,
}

/// How long the body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Bytes(usize),
    Chunked,
}

impl Head {
    /// The head at the beginning of what has been read; none if it is not complete yet.
    pub(super) fn read(read: &[u8]) -> Outcome<Option<Self>> {
        let Some(end) = memmem::find(read, b"\r\n\r\n") else { return Ok(None) };
        let text = std::str::from_utf8(&read[..end])?;
        let (first, headers) = text.split_once("\r\n").unwrap_or((text, ""));
        let status = first.split(' ').nth(1).ok_or("an answer without a status")?.parse()?;
        let mut head = Self { status, session: None, length: Length::Bytes(0), end: end + 4 };
        for line in headers.split("\r\n") {
            let (name, value) = line.split_once(':').ok_or("a header without a colon")?;
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                head.length = Length::Bytes(value.parse()?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                head.length = Length::Chunked;
            } else if name.eq_ignore_ascii_case("mcp-session-id") {
                head.session = Some(value.to_owned());
            }
        }
        Ok(Some(head))
    }
}

/// Takes the complete chunks off the beginning of what has been read. Returns how much that was, and whether the last
/// chunk was among it.
pub(super) fn take_chunks(read: &[u8], body: &mut Vec<u8>) -> Outcome<(usize, bool)> {
    let mut at = 0;
    loop {
        let Some(line) = memmem::find(&read[at..], b"\r\n") else { return Ok((at, false)) };
        let size = usize::from_str_radix(std::str::from_utf8(&read[at..at + line])?, 16)?;
        let (from, to) = (at + line + 2, at + line + 2 + size);
        if read.len() < to + 2 {
            return Ok((at, false));
        }
        if read[to..to + 2] != *b"\r\n" {
            return Err("a chunk that is longer than it says".into());
        }
        body.extend_from_slice(&read[from..to]);
        at = to + 2;
        if size == 0 {
            return Ok((at, true));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_once_it_is_complete() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\nMcp-Session-Id: a\r\n\r\nhello";

        assert_eq!(Head::read(&text[..40]).unwrap(), None);
        let head = Head::read(text).unwrap().unwrap();

        assert_eq!((head.status, head.length), (200, Length::Bytes(12)));
        assert_eq!(head.session.as_deref(), Some("a"));
        assert_eq!(&text[head.end..], b"hello");
    }

    #[test]
    fn chunks_are_taken_as_they_come() {
        let text = b"5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n";
        let mut body = Vec::new();

        let (taken, last) = take_chunks(&text[..11], &mut body).unwrap();
        assert_eq!((taken, last), (10, false));
        let (rest, last) = take_chunks(&text[taken..], &mut body).unwrap();

        assert_eq!((taken + rest, last), (text.len(), true));
        assert_eq!(body, b"hello!");
    }
}

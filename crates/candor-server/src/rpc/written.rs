//! The bytes of an answer, in one piece or around a shared piece.

use bytes::Bytes;

/// A message that is ready to be sent.
///
/// A long list is encoded once and shared by all answers that contain it. It is the middle piece here, and is not copied on the way
/// to a socket.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written {
    head: Bytes,
    shared: Bytes,
    tail: Bytes,
}

impl Written {
    /// Replaces the first occurrence of `place` in a message with `shared`.
    pub(crate) fn around(message: impl Into<Bytes>, place: &[u8], shared: Bytes) -> Self {
        let message = message.into();
        match message.windows(place.len()).position(|part| part == place) {
            None => Self { head: message, ..Self::default() },
            Some(at) => {
                Self { head: message.slice(..at), shared, tail: message.slice(at + place.len()..) }
            }
        }
    }

    /// Returns the number of bytes that only this message holds.
    pub(crate) fn own_bytes(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// Returns the pieces in order. Some may be empty.
    #[must_use]
    pub(crate) fn into_pieces(self) -> [Bytes; 3] {
        [self.head, self.shared, self.tail]
    }

    /// Returns the message in one piece.
    #[must_use]
    pub(crate) fn into_bytes(self) -> Bytes {
        if self.shared.is_empty() {
            return self.head;
        }
        [self.head, self.shared, self.tail].concat().into()
    }
}

impl From<Vec<u8>> for Written {
    fn from(message: Vec<u8>) -> Self {
        Bytes::from(message).into()
    }
}

impl From<Bytes> for Written {
    fn from(head: Bytes) -> Self {
        Self { head, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_placeholder_is_replaced() {
        let written = Written::around(b"a?b?c".to_vec(), b"?", Bytes::from_static(b"[1]"));
        assert_eq!(written.clone().into_bytes(), "a[1]b?c");
        assert_eq!(written.into_pieces().concat(), b"a[1]b?c");
    }
}

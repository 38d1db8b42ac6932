//! Estimates the memory of JSON that is read into values: a single digit can become a value of many bytes.

use candor_protocol::json::RawValue;
use candor_protocol::rpc::ErrorObject;

use crate::error::Error;

/// A shorter answer, in bytes, cannot take much memory and is not checked.
const SHORT: usize = 256 * 1024;

/// The bytes of one value. An object takes `OBJECT` more.
const VALUE: usize = 80;
const OBJECT: usize = 160;

/// Estimates the memory of a text and of the values that are read from it, in bytes.
pub(crate) fn cost(text: &[u8]) -> usize {
    let (mut values, mut objects) = (1, 0);
    let (mut in_string, mut escaped) = (false, false);
    for &byte in text {
        match (in_string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_string = !in_string,
            (false, b'{') => (objects, values) = (objects + 1, values + 1),
            (false, b'[' | b',') => values += 1,
            _ => {}
        }
    }
    2 * text.len() + values * VALUE + objects * OBJECT
}

/// Refuses an answer whose values would take more memory than `limit`, in bytes.
pub(crate) fn affordable(
    outcome: Result<Box<RawValue>, ErrorObject>,
    limit: usize,
) -> Result<Box<RawValue>, Error> {
    let too_large = |text: &str| text.len() > SHORT && cost(text.as_bytes()) > limit;
    let refused = || Error::TooLarge { what: "the server's answer".to_owned(), limit };
    match outcome {
        Ok(result) if too_large(result.get()) => Err(refused()),
        Ok(result) => Ok(result),
        Err(error) if error.data.as_ref().is_some_and(|data| too_large(data.get())) => {
            Err(refused())
        }
        Err(error) => Err(Error::Server(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_ignores_separators_inside_strings() {
        let digits = format!("[{}1]", "1,".repeat(1000));
        let letters = format!("\"{}\\\"{}\"", "1,".repeat(500), "[{".repeat(500));
        assert!(cost(digits.as_bytes()) > 1000 * VALUE);
        assert_eq!(cost(letters.as_bytes()), 2 * letters.len() + VALUE);
        assert!(cost("{}".repeat(10).as_bytes()) > 10 * OBJECT);
    }
}

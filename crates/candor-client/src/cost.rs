//! What JSON takes in memory once it is read into values: one digit of a text is a value of many bytes.

use candor_protocol::json::RawValue;
use candor_protocol::rpc::ErrorObject;

use crate::error::Error;

/// What is shorter cannot take much, and is not looked at.
const SHORT: usize = 256 * 1024;

/// A value, and what an object takes beside its members.
const VALUE: usize = 80;
const OBJECT: usize = 160;

/// Estimates the memory that a text takes with the values that are read from it.
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

/// Refuses an answer that would take more memory than `limit` once its values are read.
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
    fn values_cost_and_letters_do_not() {
        let digits = format!("[{}1]", "1,".repeat(1000));
        let letters = format!("\"{}\\\"{}\"", "1,".repeat(500), "[{".repeat(500));
        assert!(cost(digits.as_bytes()) > 1000 * VALUE);
        assert_eq!(cost(letters.as_bytes()), 2 * letters.len() + VALUE);
        assert!(cost("{}".repeat(10).as_bytes()) > 10 * OBJECT);
    }
}

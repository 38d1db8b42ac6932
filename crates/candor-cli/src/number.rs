//! Numbers on the command line. An error shows what a number looks like, not which digit is wrong.

/// Parses a count; 0 is allowed.
pub(crate) fn many(text: &str) -> Result<usize, &'static str> {
    text.parse().map_err(|_| "write a whole number, such as 10")
}

/// Parses a number of bytes. 0 is an error: there would be nothing to read or write.
pub(crate) fn bytes(text: &str) -> Result<u64, &'static str> {
    let wrong = "write a number of bytes above 0, such as 4194304";
    text.parse().ok().filter(|bytes| *bytes > 0).ok_or(wrong)
}

//! Numbers on the command line. What is none is told what one looks like, not which digit of it is wrong.

/// Reads how many, none included.
pub(crate) fn many(text: &str) -> Result<usize, &'static str> {
    text.parse().map_err(|_| "write a whole number, such as 10")
}

/// Reads a number of bytes: of none there is nothing to read or to write.
pub(crate) fn bytes(text: &str) -> Result<u64, &'static str> {
    let wrong = "write a number of bytes above 0, such as 4194304";
    text.parse().ok().filter(|bytes| *bytes > 0).ok_or(wrong)
}

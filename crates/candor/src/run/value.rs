//! Parsers for the values of flags. An error says what to write instead. Programs with flags of their own can use these parsers,
//! too.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};

/// Parses an address to listen on: `IP:PORT`, `localhost:PORT`, or a port alone, which means this machine.
///
/// # Errors
/// Returns a message if the text is none of them.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let local = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':'));
    if let Ok(port) = local.unwrap_or(text).parse() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    text.parse().map_err(|_| {
        "write IP:PORT, such as 127.0.0.1:7332, or a port alone; names are not looked up".to_owned()
    })
}

/// Adds the name of the environment variable to a parser error, if the value comes from the variable and not from a flag. The
/// user has not typed the value that the error is about.
#[must_use]
pub fn with_variable(mut problem: clap::Error) -> clap::Error {
    let Some(ContextValue::String(argument)) = problem.get(ContextKind::InvalidArg) else {
        return problem;
    };
    let flag = argument.split([' ', '=', '[']).next().unwrap_or_default();
    if let Some(tip) = variable(flag).map(|variable| stands_in(&variable)) {
        problem.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    problem
}

/// Returns the environment variable that sets this flag, if it is set and the command line does not have the flag.
pub(super) fn variable(flag: &str) -> Option<String> {
    let name = flag.strip_prefix("--")?;
    let variable = format!("CANDOR_{}", name.replace('-', "_").to_uppercase());
    let is_typed = env::args_os().any(|word| word.to_string_lossy().starts_with(flag));
    (!is_typed && env::var_os(&variable).is_some()).then_some(variable)
}

fn stands_in(variable: &str) -> String {
    format!("the environment variable {variable} sets it")
}

/// Parses the path of an existing file. The code that reads the file checks whether it can be read, and what it contains.
pub fn file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path: PathBuf| is_there(&path).map(|()| path))
}

fn is_there(path: &Path) -> Result<(), &'static str> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err("this is a folder; name a file"),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err("there is no such file")
        }
        _ => Ok(()),
    }
}

/// Checks that a file exists, once it is known that this server reads it. The error is worded like the parser's errors.
pub(super) fn must_be_there(flag: &str, path: &Path) -> crate::Result<()> {
    let Err(problem) = is_there(path) else { return Ok(()) };
    let tip = variable(flag).map(|variable| format!("\n\n  tip: {}", stands_in(&variable)));
    Err(crate::Error::usage(format!(
        "invalid value '{}' for '{flag} <FILE>': {problem}{}",
        path.display(),
        tip.unwrap_or_default()
    )))
}

/// Maximum of a count: more than any machine has of anything, and small enough for the types that count.
const MOST: usize = 1_000_000_000;

/// Parses a maximum number, at least 1.
pub(super) fn count(text: &str) -> Result<usize, String> {
    up_to(text, MOST).ok_or_else(|| format!("write a whole number from 1 to {MOST}, such as 1024"))
}

/// Parses the maximum length of a queue, at least 1.
pub(super) fn queue(text: &str) -> Result<u16, String> {
    up_to(text, u16::MAX)
        .ok_or_else(|| format!("write a whole number from 1 to {}, such as 64", u16::MAX))
}

/// Parses the maximum nesting of a message. Deeper messages than 127 levels are never read.
pub(super) fn depth(text: &str) -> Result<u8, String> {
    up_to(text, 127).ok_or_else(|| "write a whole number from 1 to 127, such as 64".to_owned())
}

fn up_to<T: std::str::FromStr + PartialOrd + From<u8>>(text: &str, most: T) -> Option<T> {
    text.parse().ok().filter(|number| (T::from(1)..=most).contains(number))
}

/// Parses `500ms`, `30s`, `5m` or `1h`; a bare number counts seconds.
pub(super) fn length(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let milliseconds = match unit {
        "ms" => Some(1),
        "s" | "" => Some(1000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let total = number.parse::<u64>().ok().zip(milliseconds).and_then(|(n, of)| n.checked_mul(of));
    total.map(Duration::from_millis).ok_or_else(|| NO_TIME.to_owned())
}

/// Parses a time as [`length`] does, but refuses zero.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    length(text).and_then(|time| if time.is_zero() { Err(NO_TIME.to_owned()) } else { Ok(time) })
}

/// Parses the length of a lease. Its owner renews it three times within this time, and a retry may have to wait for its end.
pub(super) fn lease(text: &str) -> Result<Duration, String> {
    let time = length(text)?;
    if (Duration::from_secs(1)..=Duration::from_secs(60 * 60)).contains(&time) {
        Ok(time)
    } else {
        Err("a lease lasts from 1s to 1h".to_owned())
    }
}

const NO_TIME: &str = "write a time as 500ms, 30s, 5m or 1h";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_without_a_host_means_this_machine() {
        for text in ["7332", ":7332", "localhost:7332", "127.0.0.1:7332"] {
            assert_eq!(address(text), Ok(SocketAddr::from(([127, 0, 0, 1], 7332))), "{text}");
        }
        assert!(address("[::1]:0").is_ok_and(|found| found.is_ipv6()));
        for bad in ["", ":", "99999", "-1", "127.0.0.1", "example.com:80", "http://127.0.0.1:80"] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_outside_their_bounds_are_refused() {
        assert_eq!((count("1"), queue("65535"), depth("127")), (Ok(1), Ok(65535), Ok(127)));
        for bad in ["", "0", "-1", "1.5", "4M", "nonsense", "99999999999999999999999"] {
            assert!(count(bad).is_err() && queue(bad).is_err() && depth(bad).is_err(), "{bad}");
        }
        assert!(count("1000000001").is_err() && count("1000000000").is_ok());
        assert!(queue("65536").is_err() && depth("128").is_err() && depth("300").is_err());
    }

    #[test]
    fn durations_are_parsed_within_their_bounds() {
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(time("30s"), time("30"));
        assert_eq!(time("2h"), time("120m"));
        for bad in ["", "s", "0s", "-1s", "1d", "1.5s", "99999999999999999999s"] {
            assert!(time(bad).is_err(), "{bad}");
        }
        assert_eq!(length("0"), Ok(Duration::ZERO));
        assert_eq!((lease("1s"), lease("1h")), (time("1s"), time("1h")));
        for bad in ["", "0", "999ms", "61m", "x"] {
            assert!(lease(bad).is_err(), "{bad}");
        }
        for bad in ["", "s", "-1s", "0d", "0.5s"] {
            assert!(length(bad).is_err(), "{bad}");
        }
    }
}

//! Checks that return what was seen, with its place in this kit.

use crate::store::StoreError;

/// What a law has seen that must not be.
#[derive(Debug)]
pub(super) struct Observation(String);

/// The result of a step of a law.
pub(super) type Checked<T = ()> = Result<T, Observation>;

impl Observation {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    pub(super) fn at(file: &str, line: u32, what: &str) -> Self {
        let file = file.rsplit_once("laws").map_or(file, |(_, file)| file);
        Self(format!("{what} (laws{file}:{line})"))
    }

    pub(super) fn text(self) -> String {
        self.0
    }
}

impl From<StoreError> for Observation {
    fn from(error: StoreError) -> Self {
        Self::new(format!("the store failed: {error}"))
    }
}

/// Returns what was seen.
macro_rules! fail {
    ($($text:tt)+) => {
        return Err($crate::laws::ensure::Observation::at(file!(), line!(), &format!($($text)+)))
    };
}

/// Requires a condition.
macro_rules! ensure {
    ($condition:expr $(,)?) => {
        ensure!($condition, "`{}` is false", stringify!($condition))
    };
    ($condition:expr, $($text:tt)+) => {
        if !$condition {
            fail!($($text)+)
        }
    };
}

/// Requires two values to be equal.
macro_rules! ensure_eq {
    ($seen:expr, $expected:expr $(,)?) => {
        ensure_eq!($seen, $expected, "`{}`", stringify!($seen))
    };
    ($seen:expr, $expected:expr, $($text:tt)+) => {
        match (&$seen, &$expected) {
            (seen, expected) => {
                if *seen != *expected {
                    fail!("{}: seen {seen:?}, expected {expected:?}", format_args!($($text)+))
                }
            }
        }
    };
}

/// Requires two values to differ.
macro_rules! ensure_ne {
    ($seen:expr, $other:expr $(, $($text:tt)+)?) => {
        match (&$seen, &$other) {
            (seen, other) => {
                if *seen == *other {
                    fail!("`{}` is {seen:?}, as `{}`", stringify!($seen), stringify!($other))
                }
            }
        }
    };
}

/// Requires a value to match a pattern.
macro_rules! ensure_matches {
    ($seen:expr, $pattern:pat $(if $guard:expr)? $(,)?) => {
        match &$seen {
            $pattern $(if $guard)? => {}
            seen => fail!("seen {seen:?}, expected {}", stringify!($pattern)),
        }
    };
    ($seen:expr, $pattern:pat $(if $guard:expr)?, $($text:tt)+) => {
        match &$seen {
            $pattern $(if $guard)? => {}
            seen => fail!(
                "{}: seen {seen:?}, expected {}", format_args!($($text)+), stringify!($pattern)
            ),
        }
    };
}

/// Requires a value to match a pattern, and binds its variables.
macro_rules! obtain {
    ($pattern:pat = $value:expr) => {
        let value = $value;
        let seen = format!("{value:?}");
        let $pattern = value else { fail!("seen {seen}, expected {}", stringify!($pattern)) };
    };
}

/// A value that a store must have returned.
pub(super) trait Required<T> {
    /// Returns the value.
    fn required(self, what: &str) -> Checked<T>;
}

impl<T> Required<T> for Option<T> {
    #[track_caller]
    fn required(self, what: &str) -> Checked<T> {
        let place = std::panic::Location::caller();
        let missing =
            || Observation::at(place.file(), place.line(), &format!("there is no {what}"));
        self.ok_or_else(missing)
    }
}

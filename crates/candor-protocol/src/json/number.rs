//! Numbers that keep their digits, and the test whether a `Value` can hold one exactly.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::plain::end_of_plain;

/// A JSON number as its text, so that a parse and a write change no digit.
#[derive(Clone)]
pub struct Number(Digits);

/// Short texts are stored inline: most numbers are short, and there are many.
#[derive(Clone)]
enum Digits {
    Short { bytes: [u8; SHORT], length: u8 },
    Long(Box<str>),
}

/// Enough bytes for every 64-bit integer.
const SHORT: usize = 22;

impl Digits {
    const NONE: Self = Self::Short { bytes: [0; SHORT], length: 0 };

    fn as_str(&self) -> &str {
        match self {
            Self::Short { bytes, length } => {
                std::str::from_utf8(&bytes[..usize::from(*length)]).unwrap_or_default()
            }
            Self::Long(text) => text,
        }
    }
}

impl fmt::Write for Digits {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        match self {
            Self::Short { bytes, length } => {
                let start = usize::from(*length);
                match bytes.get_mut(start..start + text.len()) {
                    Some(room) => {
                        room.copy_from_slice(text.as_bytes());
                        *length += u8::try_from(text.len()).map_err(|_| fmt::Error)?;
                    }
                    None => *self = Self::Long([self.as_str(), text].concat().into()),
                }
            }
            Self::Long(long) => *long = [&**long, text].concat().into(),
        }
        Ok(())
    }
}

impl Number {
    fn of(text: impl fmt::Display) -> Self {
        let mut digits = Digits::NONE;
        // `Digits` can hold any text, so this cannot fail.
        let _ = fmt::Write::write_fmt(&mut digits, format_args!("{text}"));
        Self(digits)
    }

    pub(crate) fn from_text(text: &str) -> Option<Self> {
        matches!(text.as_bytes().first(), Some(b'-' | b'0'..=b'9')).then(|| Self::of(text))
    }

    /// Returns the number as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the nearest double.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.as_str().parse().unwrap_or(f64::NAN)
    }

    /// Returns the value, if it is a whole number from 0 to 2⁶⁴−1 written without exponent.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.as_str().parse().ok()
    }

    /// Creates a number from a double. Returns `None` for infinities and NaN, which JSON cannot write.
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Self> {
        serde_json::Number::from_f64(value).map(Self::of)
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Number {}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Number").field(&self.as_str()).finish()
    }
}

macro_rules! from_integers {
    ($($integer:ty)*) => {$(
        impl From<$integer> for Number {
            fn from(value: $integer) -> Self {
                Self::of(value)
            }
        }
    )*};
}
from_integers!(u8 u16 u32 u64 usize i8 i16 i32 i64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Plain digits are written back as they are: JSON has no leading zeros to lose.
        if let Some(whole) = self.as_u64() {
            return serializer.serialize_u64(whole);
        }
        let raw: &RawValue =
            serde_json::from_str(self.as_str()).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// Returns the first number in `text` that a `serde_json::Value` cannot hold exactly.
///
/// A `Value` keeps 64-bit integers and doubles. Anything else would be rounded silently, and two
/// different arguments could get one fingerprint; so such numbers are refused in arguments.
///
/// ```
/// use candor_protocol::json::first_inexact_number;
///
/// assert_eq!(first_inexact_number(r#"{"id": 9007199254740993, "x": 0.1, "s": "1e999"}"#), None);
/// assert_eq!(first_inexact_number("[1, 123456789012345678901]"), Some("123456789012345678901"));
/// ```
#[must_use]
pub fn first_inexact_number(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at = end_of_plain(bytes, at + 1);
                while at < bytes.len() && bytes[at] != b'"' {
                    // A backslash and what it escapes, or a control character, which the scanner refuses.
                    at = end_of_plain(bytes, at + 2);
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let start = at;
                while at < bytes.len()
                    && matches!(bytes[at], b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
                {
                    at += 1;
                }
                let number = &text[start..at];
                if !is_exact(number) {
                    return Some(number);
                }
            }
            _ => at += 1,
        }
    }
    None
}

fn is_exact(number: &str) -> bool {
    if !number.contains(['.', 'e', 'E']) {
        return number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
    }
    // A double tells apart all decimals of up to 15 digits in its normal range: the common case.
    let mantissa = number.split(['e', 'E']).next().unwrap_or(number);
    let few_digits = mantissa.bytes().filter(u8::is_ascii_digit).count() <= 15;
    if few_digits && mantissa.len() == number.len() {
        return true;
    }
    let Ok(value) = number.parse::<f64>() else {
        return false;
    };
    // The shortest text of this double is equal in value to what was sent, unless parsing has rounded it.
    value.is_finite() && Decimal::of(number) == Decimal::of(&format!("{value:e}"))
}

/// A decimal in normal form: digits without zeros at either end, and a power of ten.
#[derive(PartialEq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn of(text: &str) -> Option<Self> {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let mut exponent: i64 = exponent.parse().ok()?;
        let negative = mantissa.starts_with('-');
        let (whole, fraction) = mantissa
            .trim_start_matches('-')
            .split_once('.')
            .unwrap_or((mantissa.trim_start_matches('-'), ""));
        exponent = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0');
        let digits = significant.trim_end_matches('0');
        exponent = exponent.checked_add(i64::try_from(significant.len() - digits.len()).ok()?)?;
        if digits.is_empty() {
            exponent = 0;
        }
        Some(Self { negative, digits: digits.to_owned(), exponent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_is_exact_if_a_round_trip_keeps_its_value() {
        for exact in [
            "0",
            "-0.0",
            "1.0",
            "1e2",
            "0.1",
            "1.5e300",
            "18446744073709551615",
            "-9223372036854775808",
            "100000000000000000000e-5",
            "2.2250738585072014e-308",
        ] {
            assert!(is_exact(exact), "{exact}");
        }
        for inexact in [
            "18446744073709551616",
            "-9223372036854775809",
            "0.12345678901234567890",
            "1e400",
            "9007199254740993.0",
            "1e-400",
            "0.1e99999999999999999999",
        ] {
            assert!(!is_exact(inexact), "{inexact}");
        }
    }

    #[test]
    fn digits_in_strings_are_not_numbers() {
        assert_eq!(
            first_inexact_number(r#"{"99999999999999999999": "\"99999999999999999999"}"#),
            None
        );
    }
}

//! Numbers: exact bounds and multiples. A double counts as the decimal that is written, so 0.0075 is a multiple of 0.0001.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::{Number, Value};

use super::draft::Draft;
use super::failure::{Faults, Kind, Spot};
use super::shape::Shape;

/// What a schema requires of numbers.
#[derive(Default)]
pub(super) struct Numbers {
    minimum: Option<Exact>,
    maximum: Option<Exact>,
    above: Option<Exact>,
    below: Option<Exact>,
    multiple_of: Option<Decimal>,
    /// Draft 4: the exclusive bounds are in `minimum` and `maximum`.
    draft_4: bool,
}

impl Numbers {
    /// Compiles the keywords for numbers. Returns `None` if they require nothing.
    pub(super) fn compile(shape: &Shape<'_>) -> Result<Option<Self>, String> {
        let bound = |keyword| Ok::<_, String>(shape.number(keyword)?.map(Exact::of));
        let mut numbers = Self {
            minimum: bound("minimum")?,
            maximum: bound("maximum")?,
            draft_4: shape.draft == Draft::Four,
            ..Self::default()
        };
        if numbers.draft_4 {
            if shape.flag("exclusiveMinimum")? {
                numbers.above = numbers.minimum.take();
            }
            if shape.flag("exclusiveMaximum")? {
                numbers.below = numbers.maximum.take();
            }
        } else {
            numbers.above = bound("exclusiveMinimum")?;
            numbers.below = bound("exclusiveMaximum")?;
        }
        if let Some(number) = shape.number("multipleOf")? {
            let divisor = Decimal::of(number);
            if divisor.is_zero() || number.as_f64().is_some_and(|n| n < 0.0) {
                return shape.wrong("multipleOf", "a number above zero");
            }
            numbers.multiple_of = Some(divisor);
        }
        Ok((!numbers.says_nothing()).then_some(numbers))
    }

    fn says_nothing(&self) -> bool {
        self.minimum.is_none()
            && self.maximum.is_none()
            && self.above.is_none()
            && self.below.is_none()
            && self.multiple_of.is_none()
    }

    #[inline]
    pub(super) fn fit(&self, number: &Number) -> bool {
        let exact = Exact::of(number);
        self.minimum.is_none_or(|limit| exact.order(limit) != Ordering::Less)
            && self.maximum.is_none_or(|limit| exact.order(limit) != Ordering::Greater)
            && self.above.is_none_or(|limit| exact.order(limit) == Ordering::Greater)
            && self.below.is_none_or(|limit| exact.order(limit) == Ordering::Less)
            && self.multiple_of.is_none_or(|divisor| divisor.divides(number))
    }

    pub(super) fn faults<'v>(&self, spot: &Spot<'_, 'v>, out: &mut Faults<'v>) {
        let Value::Number(number) = spot.value else { return };
        let exact = Exact::of(number);
        let exclusive = |keyword| match self.draft_4 {
            true => {
                (if keyword == "exclusiveMinimum" { "minimum" } else { "maximum" }, Kind::Exclusive)
            }
            false => (keyword, Kind::Plain),
        };
        if self.minimum.is_some_and(|limit| exact.order(limit) == Ordering::Less) {
            out.plain(spot, "minimum");
        }
        if self.maximum.is_some_and(|limit| exact.order(limit) == Ordering::Greater) {
            out.plain(spot, "maximum");
        }
        if self.above.is_some_and(|limit| exact.order(limit) != Ordering::Greater) {
            let (keyword, kind) = exclusive("exclusiveMinimum");
            out.say(spot, keyword, kind);
        }
        if self.below.is_some_and(|limit| exact.order(limit) != Ordering::Less) {
            let (keyword, kind) = exclusive("exclusiveMaximum");
            out.say(spot, keyword, kind);
        }
        if self.multiple_of.is_some_and(|divisor| !divisor.divides(number)) {
            out.plain(spot, "multipleOf");
        }
    }
}

/// A number without rounding: an integer if it is whole, and a double only if it has a fraction or is huge.
#[derive(Debug, Clone, Copy)]
pub(super) enum Exact {
    Whole(i128),
    Double(f64),
}

impl Exact {
    #[inline]
    pub(super) fn of(number: &Number) -> Self {
        if let Some(whole) = number.as_i64() {
            return Self::Whole(whole.into());
        }
        if let Some(whole) = number.as_u64() {
            return Self::Whole(whole.into());
        }
        let double = number.as_f64().unwrap_or_default();
        // Below this, an `i128` can hold every whole double.
        if double.fract() == 0.0 && double.abs() < 1e38 {
            #[allow(clippy::cast_possible_truncation, reason = "whole and in range")]
            return Self::Whole(double as i128);
        }
        Self::Double(double)
    }

    #[inline]
    pub(super) fn order(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => a.cmp(&b),
            (Self::Double(a), Self::Double(b)) => a.total_cmp(&b),
            (Self::Whole(a), Self::Double(b)) => order_mixed(a, b),
            (Self::Double(a), Self::Whole(b)) => order_mixed(b, a).reverse(),
        }
    }
}

/// Compares an integer with a double that is not `Whole`. Such a double has a fraction, and is small enough for an `i128`, or
/// its magnitude is larger than that of every `Whole`.
fn order_mixed(whole: i128, double: f64) -> Ordering {
    if double.abs() >= 1e38 {
        return if double > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    #[allow(clippy::cast_possible_truncation, reason = "in range")]
    let floor = double.floor() as i128;
    if whole <= floor { Ordering::Less } else { Ordering::Greater }
}

/// Digits and a power of ten.
#[derive(Debug, Clone, Copy)]
struct Decimal {
    digits: u64,
    exponent: i32,
}

impl Decimal {
    /// Returns the absolute value: the sign does not matter for multiples.
    fn of(number: &Number) -> Self {
        if let Some(digits) = number.as_i64().map(i64::unsigned_abs).or_else(|| number.as_u64()) {
            return Self { digits, exponent: 0 };
        }
        let mut text = Text::default();
        // The shortest text that reads as this double has at most seventeen digits.
        let _ = write!(text, "{:e}", number.as_f64().unwrap_or_default().abs());
        let (mut digits, mut exponent, mut behind_point) = (0_u64, 0, false);
        let text = std::str::from_utf8(&text.bytes[..text.length]).unwrap_or_default();
        for (i, byte) in text.bytes().enumerate() {
            match byte {
                b'0'..=b'9' => {
                    digits = digits.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
                    exponent -= i32::from(behind_point);
                }
                b'.' => behind_point = true,
                _ => {
                    exponent += text[i + 1..].parse::<i32>().unwrap_or_default();
                    break;
                }
            }
        }
        Self { digits, exponent }
    }

    fn is_zero(self) -> bool {
        self.digits == 0
    }

    fn divides(self, number: &Number) -> bool {
        let value = Self::of(number);
        if value.digits == 0 {
            return true;
        }
        let power = value.exponent - self.exponent;
        if power < 0 {
            // Is value.digits a multiple of self.digits * 10^-power?
            let ten = 10_u128.checked_pow(power.unsigned_abs());
            return ten
                .and_then(|ten| ten.checked_mul(self.digits.into()))
                .is_some_and(|divisor| u128::from(value.digits).is_multiple_of(divisor));
        }
        // Is value.digits * 10^power a multiple of self.digits? By repeated squaring, so that no power is too high.
        let modulus = u128::from(self.digits);
        let (mut rest, mut square) = (u128::from(value.digits) % modulus, 10 % modulus);
        let mut power = power.unsigned_abs();
        while power > 0 {
            if power % 2 == 1 {
                rest = rest * square % modulus;
            }
            square = square * square % modulus;
            power /= 2;
        }
        rest == 0
    }
}

/// A short text on the stack: numbers are checked without allocating.
struct Text {
    bytes: [u8; 40],
    length: usize,
}

impl Default for Text {
    fn default() -> Self {
        Self { bytes: [0; 40], length: 0 }
    }
}

impl std::fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        self.bytes
            .get_mut(self.length..end)
            .ok_or(std::fmt::Error)?
            .copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn number(value: &Value) -> Number {
        value.as_number().unwrap().clone()
    }

    #[test]
    fn multiple_of_is_exact_for_decimals() {
        let divides = |a: Value, b: Value| Decimal::of(&number(&a)).divides(&number(&b));
        for (divisor, value) in [
            (json!(0.0001), json!(0.0075)),
            (json!(0.01), json!(19.99)),
            (json!(0.5), json!(1e308)),
            (json!(2), json!(-8.0)),
            (json!(1.5), json!(0)),
            (json!(3), json!(u64::MAX)),
            (json!(1e-308), json!(1e308)),
            (json!(0.1), json!(4.1)),
        ] {
            assert!(divides(divisor.clone(), value.clone()), "{divisor} {value}");
        }
        for (divisor, value) in [
            (json!(0.0001), json!(0.00751)),
            (json!(2), json!(1.5)),
            (json!(1e308), json!(1e-308)),
            (json!(0.123_456_789), json!(1e308)),
            (json!(7), json!(i64::MAX - 1)),
        ] {
            assert!(!divides(divisor.clone(), value.clone()), "{divisor} {value}");
        }
    }

    #[test]
    fn number_order_is_exact_beyond_doubles() {
        let order = |a: Value, b: Value| Exact::of(&number(&a)).order(Exact::of(&number(&b)));
        assert_eq!(
            order(json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992.0)),
            Ordering::Greater
        );
        assert_eq!(order(json!(u64::MAX), json!(18_446_744_073_709_551_616.0)), Ordering::Less);
        assert_eq!(order(json!(1), json!(1.0)), Ordering::Equal);
        assert_eq!(order(json!(-0.0), json!(0)), Ordering::Equal);
        assert_eq!(order(json!(-1), json!(-1.5)), Ordering::Greater);
        assert_eq!(order(json!(-1e300), json!(i64::MIN)), Ordering::Less);
        assert_eq!(order(json!(1e300), json!(1e301)), Ordering::Less);
    }
}

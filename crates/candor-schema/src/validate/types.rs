//! JSON types, as a set of bits.

use serde_json::{Number, Value};

use super::draft::Draft;
use super::shape::Shape;

/// The types that a schema admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Types(u8);

const NULL: u8 = 1;
const BOOLEAN: u8 = 2;
const STRING: u8 = 4;
const ARRAY: u8 = 8;
const OBJECT: u8 = 16;
const NUMBER: u8 = 32;
const INTEGER: u8 = 64;
/// In draft 4, only a number that is written as an integer is one: 1.0 is not.
const WRITTEN_AS_INTEGER: u8 = 128;

const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

impl Types {
    pub(super) const ANY: Self = Self(NULL | BOOLEAN | STRING | ARRAY | OBJECT | NUMBER);
    const NONE: Self = Self(0);

    /// Reads `type`.
    pub(super) fn compile(shape: &Shape<'_>) -> Result<Self, String> {
        let strict = shape.draft == Draft::Four;
        let named = |name: &Value| Self::named(name.as_str()?, strict);
        let expected = "the name of a type, or several";
        match shape.get("type") {
            None => Ok(Self::ANY),
            Some(Value::Array(list)) if (1..=7).contains(&list.len()) => {
                let twice = |i: usize| list[..i].contains(&list[i]);
                if (0..list.len()).any(twice) {
                    return shape.wrong("type", expected);
                }
                let types =
                    list.iter().try_fold(Self::NONE, |all, name| Some(all.union(named(name)?)));
                types.map_or_else(|| shape.wrong("type", expected), Ok)
            }
            Some(name) => named(name).map_or_else(|| shape.wrong("type", expected), Ok),
        }
    }

    /// Returns the type with a name.
    fn named(name: &str, strict_integers: bool) -> Option<Self> {
        Some(Self(match name {
            "null" => NULL,
            "boolean" => BOOLEAN,
            "string" => STRING,
            "array" => ARRAY,
            "object" => OBJECT,
            "number" => NUMBER,
            "integer" if strict_integers => WRITTEN_AS_INTEGER,
            "integer" => INTEGER,
            _ => return None,
        }))
    }

    fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline]
    pub(super) fn admit(self, value: &Value) -> bool {
        let bit = match value {
            Value::Null => NULL,
            Value::Bool(_) => BOOLEAN,
            Value::String(_) => STRING,
            Value::Array(_) => ARRAY,
            Value::Object(_) => OBJECT,
            Value::Number(number) => return self.admit_number(number),
        };
        self.0 & bit != 0
    }

    #[inline]
    fn admit_number(self, number: &Number) -> bool {
        if self.0 & NUMBER != 0 {
            return true;
        }
        if self.0 & (INTEGER | WRITTEN_AS_INTEGER) == 0 {
            return false;
        }
        if number.is_i64() || number.is_u64() {
            return true;
        }
        let double = number.as_f64().filter(|double| double.fract() == 0.0);
        // serde_json parses an integer beyond 64 bits as a double, so its spelling is lost.
        double.is_some_and(|double| self.0 & INTEGER != 0 || double.abs() >= TWO_TO_64)
    }
}

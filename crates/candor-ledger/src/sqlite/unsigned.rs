//! Unsigned integers, in signed columns.
//!
//! Before 0.38, rusqlite converts `u64` without a feature; since then, it needs one. The store supports both versions, so it
//! converts by itself.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use rusqlite::{Error, Result, Row, ToSql};

pub(super) struct UnsignedInteger(pub(super) u64);

impl UnsignedInteger {
    pub(super) fn read(row: &Row<'_>, at: usize) -> Result<u64> {
        row.get(at).map(|Self(number)| number)
    }
}

impl FromSql for UnsignedInteger {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = value.as_i64()?;
        u64::try_from(number).map(Self).map_err(|_| FromSqlError::OutOfRange(number))
    }
}

impl ToSql for UnsignedInteger {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        let number = i64::try_from(self.0);
        number.map(ToSqlOutput::from).map_err(|error| Error::ToSqlConversionFailure(error.into()))
    }
}

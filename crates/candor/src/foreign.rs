//! Checks that a feature alone makes its crate's types arguments and results. The workspace's other features would hide a missing one.

#[allow(dead_code)]
const fn is_value<T>()
where
    T: serde::Serialize + serde::de::DeserializeOwned + schemars::JsonSchema,
{
}

#[cfg(feature = "chrono")]
const _: () = {
    is_value::<chrono::DateTime<chrono::Utc>>();
    is_value::<chrono::NaiveDate>();
};
#[cfg(feature = "rust_decimal")]
const _: () = is_value::<rust_decimal::Decimal>();
#[cfg(feature = "time")]
const _: () = {
    is_value::<crate::time::Rfc3339>();
    is_value::<crate::time::IsoDate>();
};
#[cfg(feature = "url")]
const _: () = is_value::<url::Url>();
#[cfg(feature = "uuid")]
const _: () = is_value::<uuid::Uuid>();

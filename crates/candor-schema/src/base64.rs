//! Bytes in JSON, as a Base64 string.

use std::borrow::Cow;
use std::ops::Deref;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Accepts all that the schema accepts, including meaningless bits at the end, which no pattern can detect.
const READING: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Bytes, sent as a Base64 string. serde sends a `Vec<u8>` as an array of numbers.
///
/// ```
/// use candor_schema::Base64;
///
/// let picture: Base64 = serde_json::from_str(r#""iVBORw0KGgo=""#)?;
/// assert!(picture.starts_with(b"\x89PNG"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Base64(pub Vec<u8>);

impl Deref for Base64 {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Base64 {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        READING
            .decode(&*text)
            .map(Self)
            .map_err(|error| serde::de::Error::custom(format!("expected Base64: {error}")))
    }
}

impl JsonSchema for Base64 {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Base64".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // Validators ignore `contentEncoding`, so the pattern does the check.
        let group = "[A-Za-z0-9+/]";
        let pattern = format!("^({group}{{4}})*({group}{{2}}==|{group}{{3}}=)?$");
        json_schema!({"type": "string", "contentEncoding": "base64", "pattern": pattern})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Schema as Compiled, View, derive, read};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn schema() -> std::sync::Arc<Compiled> {
        Compiled::compile(&derive::<Base64>(View::Input).to_string()).unwrap()
    }

    #[test]
    fn schema_refuses_invalid_base64() {
        for bad in
            [json!("a"), json!("a==="), json!("é"), json!("YQ"), json!([1, 2]), json!("YQ==\n")]
        {
            assert!(schema().check(&bad).is_err(), "{bad}");
        }
        // What the schema accepts can be read.
        assert!(schema().check(&json!("YR==")).is_ok());
        assert_eq!(read::<Base64>(&json!("YR==")).unwrap().0, b"a");
    }

    proptest! {
        #[test]
        fn bytes_survive_a_round_trip_through_base64(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let sent: Value = serde_json::to_value(Base64(bytes.clone())).unwrap();
            prop_assert!(schema().check(&sent).is_ok());
            prop_assert_eq!(read::<Base64>(&sent).unwrap().0, bytes);
        }
    }
}

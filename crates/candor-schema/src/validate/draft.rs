//! The dialects of JSON Schema, oldest first, and their differences.

/// A dialect that can be compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Draft {
    /// Draft 4.
    Four,
    /// Draft 6.
    Six,
    /// Draft 7.
    Seven,
    /// 2019-09.
    Nineteen,
    /// 2020-12.
    Twenty,
}

impl Draft {
    /// Returns the draft that a `$schema` names.
    pub(crate) fn named(uri: &str) -> Option<Self> {
        let uri = uri.trim_end_matches('#');
        let uri = uri.trim_start_matches("http://").trim_start_matches("https://");
        match uri {
            "json-schema.org/draft/2020-12/schema" => Some(Self::Twenty),
            "json-schema.org/draft/2019-09/schema" => Some(Self::Nineteen),
            "json-schema.org/draft-07/schema" => Some(Self::Seven),
            "json-schema.org/draft-06/schema" => Some(Self::Six),
            "json-schema.org/draft-04/schema" => Some(Self::Four),
            _ => None,
        }
    }

    /// Returns the keyword that names a schema.
    pub(super) fn id(self) -> &'static str {
        if self == Self::Four { "id" } else { "$id" }
    }

    /// Returns the keyword of a dynamic reference, whose target depends on the path of the check.
    pub(super) fn dynamic_ref(self) -> Option<&'static str> {
        match self {
            Self::Twenty => Some("$dynamicRef"),
            Self::Nineteen => Some("$recursiveRef"),
            _ => None,
        }
    }

    /// Returns true up to draft 7, where a `$ref` replaces everything beside it.
    pub(super) fn ref_stands_alone(self) -> bool {
        self <= Self::Seven
    }
}

/// How a keyword holds schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubschemaForm {
    /// One schema.
    One,
    /// A list of schemas.
    Many,
    /// Either of the two.
    OneOrMany,
    /// An object whose members are schemas.
    Named,
    /// An object whose members are schemas or lists of names.
    NamedOrNames,
}

/// Returns how a keyword holds schemas in a draft, if it does.
pub(super) fn holds(draft: Draft, keyword: &str) -> Option<SubschemaForm> {
    use Draft::{Nineteen, Seven, Six, Twenty};
    let (since, until, holds) = match keyword {
        "not" | "additionalProperties" => (Draft::Four, Twenty, SubschemaForm::One),
        "contains" | "propertyNames" => (Six, Twenty, SubschemaForm::One),
        "if" | "then" | "else" => (Seven, Twenty, SubschemaForm::One),
        "unevaluatedItems" | "unevaluatedProperties" | "contentSchema" => {
            (Nineteen, Twenty, SubschemaForm::One)
        }
        "additionalItems" => (Draft::Four, Nineteen, SubschemaForm::One),
        "items" if draft == Twenty => (Twenty, Twenty, SubschemaForm::One),
        "items" => (Draft::Four, Nineteen, SubschemaForm::OneOrMany),
        "allOf" | "anyOf" | "oneOf" => (Draft::Four, Twenty, SubschemaForm::Many),
        "prefixItems" => (Twenty, Twenty, SubschemaForm::Many),
        // Documents of all drafts use both names for definitions.
        "properties" | "patternProperties" | "definitions" | "$defs" => {
            (Draft::Four, Twenty, SubschemaForm::Named)
        }
        "dependentSchemas" => (Nineteen, Twenty, SubschemaForm::Named),
        "dependencies" => (Draft::Four, Twenty, SubschemaForm::NamedOrNames),
        _ => return None,
    };
    (since <= draft && draft <= until).then_some(holds)
}

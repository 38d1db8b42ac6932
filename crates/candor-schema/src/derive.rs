//! Derives the JSON Schema 2020-12 of a Rust type.
//!
//! schemars generates the schema. [`crate::inline`], [`crate::unions`] and [`crate::tidy`] rewrite it into the form that
//! hosts accept: no references, no titles, closed objects, `anyOf`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value};

use crate::widths::Bounds;
use crate::{constraints, inline, keys, tidy, unions, walk, widths, write};

/// The side of a type that a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// What serde deserializes.
    Input,
    /// What serde serializes.
    Output,
}

static DERIVATIONS: AtomicU64 = AtomicU64::new(0);

/// Returns how many schemas this process has derived. Listing and calling tools derive none.
#[must_use]
pub fn derivations() -> u64 {
    DERIVATIONS.load(Ordering::Relaxed)
}

/// Derives the schema of a type.
///
/// The result has no `title` and no `$schema`. A `$ref` is left only where a type contains itself; its
/// definition is then in `$defs` at the root.
///
/// ```
/// use candor_schema::{View, derive};
///
/// assert_eq!(
///     derive::<Option<u8>>(View::Input),
///     serde_json::json!({
///         "anyOf": [{"type": "integer", "minimum": 0, "maximum": 255}, {"type": "null"}]
///     }),
/// );
/// ```
#[must_use]
pub fn derive<T: JsonSchema>(view: View) -> Value {
    DERIVATIONS.fetch_add(1, Ordering::Relaxed);
    let mut schema = written::<T>(view);
    constraints::apply(&mut schema);
    tidied(schema, view, Bounds::Published)
}

/// The schema of a type that callers send, and what its author should know.
pub(crate) struct Inspected {
    /// The schema to publish.
    pub(crate) schema: Value,
    /// The schema with the bounds of `i64`.
    pub(crate) bounded: Value,
    /// The author's mistakes.
    pub(crate) mistakes: Vec<String>,
}

/// Derives the schema of a type that callers send, and finds the author's mistakes in it.
pub(crate) fn inspect<T: JsonSchema>() -> Inspected {
    DERIVATIONS.fetch_add(1, Ordering::Relaxed);
    let mut schema = written::<T>(View::Input);
    let mut mistakes = constraints::apply(&mut schema);
    let bounded = tidied(schema.clone(), View::Input, Bounds::All);
    let schema = tidied(schema, View::Input, Bounds::Published);
    mistakes.extend(constraints::contradictions(&bounded));
    // Alternatives repeat the members of their owner, and so its mistakes.
    let mut seen = BTreeSet::new();
    mistakes.retain(|mistake| seen.insert(mistake.clone()));
    Inspected { schema, bounded, mistakes }
}

/// Returns true if a type is a map, with keys of any type.
pub(crate) fn is_map<T: JsonSchema>() -> bool {
    // The id of a derived type begins with the path of its module, so only schemars' own maps begin with `Map<`.
    T::schema_id().starts_with("Map<") || written::<T>(View::Input).get(keys::MARK).is_some()
}

/// Returns what schemars generates, with references replaced by their definitions.
fn written<T: JsonSchema>(view: View) -> Value {
    let (referring, definitions) = generate::<T>(view, false);
    if inline::recursive(&definitions).is_empty() {
        // schemars drops a constraint on a field whose schema is a reference (`#[schemars(range(max = 9))] level: Level`), but
        // keeps it if that schema is inlined.
        generate::<T>(view, true).0
    } else {
        inline::inline(referring, &definitions)
    }
}

fn generate<T: JsonSchema>(view: View, inline: bool) -> (Value, Map<String, Value>) {
    let mut generator = generator(view, inline);
    let schema = generator.subschema_for::<T>().to_value();
    (schema, generator.take_definitions(false))
}

fn generator(view: View, inline: bool) -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = inline;
    });
    match view {
        View::Input => settings.for_deserialize(),
        View::Output => settings.for_serialize(),
    }
    .into_generator()
}

fn tidied(mut schema: Value, view: View, bounds: Bounds) -> Value {
    match view {
        View::Input => walk::from_the_leaves(&mut schema, &widths::shorten),
        View::Output => walk::from_the_leaves(&mut schema, &write::allow_digits),
    }
    walk::from_the_leaves(&mut schema, &|schema| {
        tidy::prune(schema);
        widths::bound(schema, view, bounds);
    });
    walk::from_the_leaves(&mut schema, &unions::settle);
    tidy::close(&mut schema);
    walk::from_the_leaves(&mut schema, &|schema| tidy::members(schema, view));
    walk::from_the_leaves(&mut schema, &tidy::order);
    schema
}

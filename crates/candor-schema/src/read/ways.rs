//! Ways to read values that serde cannot read from its own copies.
//!
//! serde copies tagged, untagged and flattened values before it reads them. Such a copy has no 128-bit integers, and its
//! keys are strings. `#[candor::args]` therefore names a way for each field that holds such integers or keys.

use std::any::type_name;
use std::collections::BTreeMap;
use std::fmt;
use std::iter::from_fn;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};

use super::deserializer::NameReader;

/// A way to read a `T`. Containers of ways read containers of values: `Option<WideInteger>` reads an `Option<u128>`.
pub trait ReadAs<T> {
    /// Reads a value.
    fn read_as<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error>;
}

/// Reads a field in the way `W`. The macros name this function in `deserialize_with`.
pub fn read_as<'de, W: ReadAs<T>, T, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    W::read_as(deserializer)
}

/// The type's own way.
pub struct Natural;

/// A 128-bit integer. In serde's copy it is a 64-bit integer.
pub struct WideInteger;

/// A key of a map. In serde's copy it is a string, whatever its type is.
pub struct MapKey;

/// Returns true if serde reads from its own copy. Only the name of the type shows it.
fn is_copy<D>() -> bool {
    let name = type_name::<D>();
    ["ContentDeserializer", "ContentRefDeserializer"].iter().any(|copy| name.contains(copy))
}

impl<T: DeserializeOwned> ReadAs<T> for Natural {
    fn read_as<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::deserialize(deserializer)
    }
}

impl<T: DeserializeOwned> ReadAs<T> for WideInteger {
    fn read_as<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        match is_copy::<D>() {
            true => deserializer.deserialize_u64(IntegerVisitor(PhantomData)),
            false => T::deserialize(deserializer),
        }
    }
}

struct IntegerVisitor<T>(PhantomData<T>);

impl<T: DeserializeOwned> Visitor<'_> for IntegerVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        T::deserialize(number.into_deserializer())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        T::deserialize(number.into_deserializer())
    }
}

impl<K: DeserializeOwned> ReadAs<K> for MapKey {
    fn read_as<'de, D: Deserializer<'de>>(deserializer: D) -> Result<K, D::Error> {
        match is_copy::<D>() {
            true => deserializer.deserialize_any(KeyVisitor(PhantomData)),
            false => K::deserialize(deserializer),
        }
    }
}

struct KeyVisitor<K>(PhantomData<K>);

impl<K: DeserializeOwned> Visitor<'_> for KeyVisitor<K> {
    type Value = K;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<K, E> {
        K::deserialize(NameReader::new(name))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<K, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<K, E> {
        self.visit_str(&number.to_string())
    }
}

/// A part of a value, read in the way `W`.
struct Part<T, W>(T, PhantomData<W>);

impl<'de, T, W: ReadAs<T>> Deserialize<'de> for Part<T, W> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        W::read_as(deserializer).map(|part| Self(part, PhantomData))
    }
}

impl<T, W: ReadAs<T>> ReadAs<Option<T>> for Option<W> {
    fn read_as<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
        Ok(Option::<Part<T, W>>::deserialize(deserializer)?.map(|part| part.0))
    }
}

impl<T, W: ReadAs<T>> ReadAs<Box<T>> for Box<W> {
    fn read_as<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<T>, D::Error> {
        W::read_as(deserializer).map(Box::new)
    }
}

/// Lists and sets.
impl<C, T, W> ReadAs<C> for Vec<W>
where
    C: IntoIterator<Item = T> + FromIterator<T>,
    W: ReadAs<T>,
{
    fn read_as<'de, D: Deserializer<'de>>(deserializer: D) -> Result<C, D::Error> {
        let parts = Vec::<Part<T, W>>::deserialize(deserializer)?;
        Ok(parts.into_iter().map(|part| part.0).collect())
    }
}

impl<T, W: ReadAs<T>, const N: usize> ReadAs<[T; N]> for [W; N] {
    fn read_as<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[T; N], D::Error> {
        let parts: Vec<T> = Vec::<W>::read_as(deserializer)?;
        let of_length = |parts: Vec<T>| {
            Error::invalid_length(parts.len(), &&*format!("an array of length {N}"))
        };
        parts.try_into().map_err(of_length)
    }
}

macro_rules! tuples {
    ($(($($part:ident $way:ident),*))*) => {$(
        impl<$($part, $way: ReadAs<$part>),*> ReadAs<($($part,)*)> for ($($way,)*) {
            #[allow(non_snake_case, reason = "a value is named like its type")]
            fn read_as<'de, De: Deserializer<'de>>(deserializer: De) -> Result<($($part,)*), De::Error> {
                let ($($part,)*) = <($(Part<$part, $way>,)*)>::deserialize(deserializer)?;
                Ok(($($part.0,)*))
            }
        }
    )*};
}

tuples! { (A V) (A V, B W) (A V, B W, C X) (A V, B W, C X, D Y) }

/// Maps of any kind.
impl<C, K, V, A, B> ReadAs<C> for BTreeMap<A, B>
where
    C: IntoIterator<Item = (K, V)> + FromIterator<(K, V)>,
    A: ReadAs<K>,
    B: ReadAs<V>,
{
    fn read_as<'de, D: Deserializer<'de>>(deserializer: D) -> Result<C, D::Error> {
        deserializer.deserialize_map(MapVisitor::<C, Part<K, A>, Part<V, B>>(PhantomData))
    }
}

struct MapVisitor<C, K, V>(PhantomData<(C, K, V)>);

impl<'de, C, K, V, A, B> Visitor<'de> for MapVisitor<C, Part<K, A>, Part<V, B>>
where
    C: FromIterator<(K, V)>,
    A: ReadAs<K>,
    B: ReadAs<V>,
{
    type Value = C;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<C, M::Error> {
        let entries = from_fn(|| map.next_entry::<Part<K, A>, Part<V, B>>().transpose());
        entries.map(|entry| entry.map(|(key, value)| (key.0, value.0))).collect()
    }
}

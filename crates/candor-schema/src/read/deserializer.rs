//! Deserializes a value with serde, and records the place of a refusal.

use std::cell::RefCell;
use std::marker::PhantomData;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value, map};

use super::refusal::Refusal;

/// Deserializer methods that call the same function.
macro_rules! visits {
    ($self:ident.$visit:ident($visitor:ident): $($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>($self, $visitor: V) -> Result<V::Value, Self::Error> {
            $self.$visit($visitor)
        }
    )*};
}

/// Which names serde gets as integers, where it does not name the type that it expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IntegerKeys {
    None,
    /// The names of an object whose names are all integers.
    OfWholeObjects,
    /// Every name that is an integer. Only for explanations: the members of a struct have no such names.
    Each,
}

/// How a value is read, and what serde copies on the way.
pub(super) struct Reading {
    integer_keys: IntegerKeys,
    /// The values that serde read without naming the expected type.
    buffered: RefCell<Vec<*const Value>>,
}

/// The values that serde reads from its own copy, so that the place of a refusal is lost.
pub(super) struct Log(Vec<*const Value>);

impl Log {
    pub(super) fn is_buffered(&self, value: &Value) -> bool {
        let buffered = |value: &Value| self.0.contains(&std::ptr::from_ref(value));
        // The members of a flattened type are copied one by one.
        buffered(value) || value.as_object().is_some_and(|members| members.values().any(buffered))
    }
}

impl Reading {
    pub(super) fn new(integer_keys: IntegerKeys) -> Self {
        Self { integer_keys, buffered: RefCell::default() }
    }

    pub(super) fn into_log(self) -> Log {
        Log(self.buffered.into_inner())
    }
}

/// A value as serde reads it.
#[derive(Clone, Copy)]
pub(super) struct ValueReader<'de> {
    value: &'de Value,
    reading: &'de Reading,
}

impl<'de> ValueReader<'de> {
    pub(super) fn new(value: &'de Value, reading: &'de Reading) -> Self {
        Self { value, reading }
    }

    fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(unsigned), _) => visitor.visit_u64(unsigned),
                (_, Some(signed)) => visitor.visit_i64(signed),
                _ => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => {
                let mut access = Items { items: items.iter().enumerate(), reading: self.reading };
                let read = visitor.visit_seq(&mut access)?;
                match access.items.len() {
                    0 => Ok(read),
                    _ => Err(de::Error::invalid_length(items.len(), &"fewer items in the array")),
                }
            }
            Value::Object(members) => visitor.visit_map(Members::new(members, self.reading)),
        }
    }
}

impl<'de> Deserializer<'de> for ValueReader<'de> {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.reading.buffered.borrow_mut().push(self.value);
        self.visit(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        let reading = self.reading;
        match self.value {
            Value::String(name) => visitor.visit_enum(Variant { name, content: None, reading }),
            Value::Object(members) if members.len() == 1 => {
                let mut members = members.iter();
                let Some((name, content)) = members.next() else { return self.visit(visitor) };
                visitor.visit_enum(Variant { name, content: Some(content), reading })
            }
            Value::Object(_) => {
                Err(de::Error::invalid_value(Unexpected::Map, &"an object with one member"))
            }
            _ => self.visit(visitor),
        }
    }

    visits! { self.visit(visitor):
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char
        deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf deserialize_unit deserialize_seq
        deserialize_map deserialize_identifier
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        self.visit(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Refusal> {
        self.visit(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        self.visit(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        self.visit(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_unit()
    }
}

/// The items of an array.
struct Items<'de> {
    items: std::iter::Enumerate<std::slice::Iter<'de, Value>>,
    reading: &'de Reading,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Refusal;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Refusal> {
        let Some((index, item)) = self.items.next() else { return Ok(None) };
        let item = ValueReader::new(item, self.reading);
        seed.deserialize(item).map(Some).map_err(|refusal| refusal.inside(index.to_string()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// The members of an object.
struct Members<'de> {
    members: map::Iter<'de>,
    current: Option<(&'de str, &'de Value)>,
    integer_keys: bool,
    reading: &'de Reading,
}

impl<'de> Members<'de> {
    fn new(members: &'de Map<String, Value>, reading: &'de Reading) -> Self {
        let integer_keys = match reading.integer_keys {
            IntegerKeys::None => false,
            IntegerKeys::OfWholeObjects => members.keys().all(|name| integer(name).is_some()),
            IntegerKeys::Each => true,
        };
        Self { members: members.iter(), current: None, integer_keys, reading }
    }
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Refusal;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Refusal> {
        let Some((name, value)) = self.members.next() else { return Ok(None) };
        self.current = Some((name, value));
        let is_integer = self.integer_keys && integer(name).is_some();
        let key = NameReader { is_integer, ..NameReader::new(name) };
        let read = seed.deserialize(key).map(Some);
        read.map_err(|refusal: Refusal| refusal.of_name(name))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Refusal> {
        let Some((name, value)) = self.current.take() else {
            return Err(de::Error::custom("a value was read before its name"));
        };
        let value = ValueReader::new(value, self.reading);
        seed.deserialize(value).map_err(|refusal| refusal.inside(name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}

/// Returns true if a name is an integer as JSON writes it.
fn is_integer(name: &str) -> bool {
    let digits = name.strip_prefix('-').unwrap_or(name);
    name == "0"
        || digits.starts_with(|first: char| first != '0')
            && digits.bytes().all(|b| b.is_ascii_digit())
}

pub(super) fn integer(name: &str) -> Option<i128> {
    is_integer(name).then(|| name.parse().ok()).flatten()
}

/// The name of a member as serde reads it.
pub(super) struct NameReader<'de, E> {
    name: &'de str,
    /// Whether a type that does not name what it expects gets an integer.
    is_integer: bool,
    error: PhantomData<E>,
}

impl<'de, E: de::Error> NameReader<'de, E> {
    pub(super) fn new(name: &'de str) -> Self {
        Self { name, is_integer: false, error: PhantomData }
    }

    fn visit_integer<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match integer(self.name) {
            Some(number) => match (i64::try_from(number), u64::try_from(number)) {
                (Ok(number), _) => visitor.visit_i64(number),
                (_, Ok(number)) => visitor.visit_u64(number),
                _ => Err(self.too_wide(&visitor)),
            },
            None if is_integer(self.name) => Err(self.too_wide(&visitor)),
            None => Err(E::invalid_type(Unexpected::Str(self.name), &visitor)),
        }
    }

    fn too_wide(&self, expected: &dyn de::Expected) -> E {
        let number = format!("the number {}", self.name);
        E::invalid_value(Unexpected::Other(&number), expected)
    }
}

impl<'de, E: de::Error> Deserializer<'de> for NameReader<'de, E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        if self.is_integer {
            self.visit_integer(visitor)
        } else {
            visitor.visit_borrowed_str(self.name)
        }
    }

    visits! { self.visit_integer(visitor):
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match integer(self.name) {
            Some(number) => visitor.visit_i128(number),
            None => self.visit_integer(visitor),
        }
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.name.parse() {
            Ok(number) if is_integer(self.name) => visitor.visit_u128(number),
            _ => self.visit_integer(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.name {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            other => Err(E::invalid_type(Unexpected::Str(other), &visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, E> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, E> {
        BorrowedStrDeserializer::new(self.name).deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// A variant: its name, and its content if there is any.
struct Variant<'de> {
    name: &'de str,
    content: Option<&'de Value>,
    reading: &'de Reading,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Refusal;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Refusal> {
        let name: BorrowedStrDeserializer<'de, Refusal> = BorrowedStrDeserializer::new(self.name);
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> Variant<'de> {
    fn content(&self, expected: &'static str) -> Result<ValueReader<'de>, Refusal> {
        match self.content {
            Some(content) => Ok(ValueReader::new(content, self.reading)),
            None => Err(de::Error::invalid_type(Unexpected::Str(self.name), &expected)),
        }
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Refusal;

    fn unit_variant(self) -> Result<(), Refusal> {
        let Some(content) = self.content else { return Ok(()) };
        de::Deserialize::deserialize(ValueReader::new(content, self.reading))
            .map_err(|refusal: Refusal| refusal.inside(self.name))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Refusal> {
        seed.deserialize(self.content("an object with one member")?)
            .map_err(|refusal| refusal.inside(self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Refusal> {
        self.content("an object with one member")?
            .deserialize_tuple(len, visitor)
            .map_err(|refusal| refusal.inside(self.name))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        self.content("an object with one member")?
            .deserialize_struct("", fields, visitor)
            .map_err(|refusal| refusal.inside(self.name))
    }
}

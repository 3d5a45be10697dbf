//! Parsing into a `serde_json::Value` that refuses duplicate keys, where serde_json would take the last one.

use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::error::PayloadError;

pub(crate) fn value(json: &str) -> Result<Value, PayloadError> {
    let mut duplicate = None;
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let parsed = Strict {
        duplicate: &mut duplicate,
    }
    .deserialize(&mut deserializer);
    if let Some(key) = duplicate {
        return Err(PayloadError::DuplicateKey(key));
    }
    parsed.map_err(|error| {
        if error.is_syntax() && error.to_string().starts_with("recursion limit") {
            PayloadError::TooDeep
        } else {
            PayloadError::Decode(error.to_string().into())
        }
    })
}

struct Strict<'a> {
    duplicate: &'a mut Option<Box<str>>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Strict {
            duplicate: &mut *self.duplicate,
        })? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(key) = map.next_key_seed(Key)? {
            if members.contains_key(&key) {
                *self.duplicate = Some(key.into());
                return Err(de::Error::custom("duplicate key"));
            }
            let value = map.next_value_seed(Strict {
                duplicate: &mut *self.duplicate,
            })?;
            members.insert(key, value);
        }
        Ok(Value::Object(members))
    }
}

struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        String::deserialize(deserializer)
    }
}

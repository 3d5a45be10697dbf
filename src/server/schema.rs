//! Whether a configuration fits its schema.

use serde_json::value::RawValue;

/// A compiled `configSchema`. Without the feature `schema` there is none, and nothing is enforced.
#[cfg(feature = "schema")]
pub(super) struct ConfigSchema(jsonschema::Validator);

#[cfg(feature = "schema")]
impl ConfigSchema {
    /// Nothing is fetched: a schema that refers to another document is refused.
    pub(super) fn compile(schema: &RawValue) -> Result<Option<Self>, String> {
        let schema: serde_json::Value =
            serde_json::from_str(schema.get()).map_err(|error| error.to_string())?;
        jsonschema::validator_for(&schema)
            .map(|validator| Some(Self(validator)))
            .map_err(|error| error.to_string())
    }

    /// A configuration that is not given is an empty one. What is wrong is said without showing the value.
    pub(super) fn check(&self, config: Option<&RawValue>) -> Result<(), String> {
        let config: serde_json::Value =
            serde_json::from_str(config.map_or("{}", RawValue::get)).map_err(|error| error.to_string())?;
        self.0.validate(&config).map_err(|error| {
            let at = error.instance_path().to_string();
            let at = if at.is_empty() { "/" } else { &*at };
            format!("{} (at {at})", error.masked())
        })
    }
}

#[cfg(not(feature = "schema"))]
pub(super) enum ConfigSchema {}

#[cfg(not(feature = "schema"))]
impl ConfigSchema {
    #[allow(clippy::unnecessary_wraps, reason = "with the feature it can fail")]
    pub(super) fn compile(_: &RawValue) -> Result<Option<Self>, String> {
        Ok(None)
    }

    pub(super) fn check(&self, _: Option<&RawValue>) -> Result<(), String> {
        match *self {}
    }
}

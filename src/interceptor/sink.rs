//! The word of a sink.

use serde_json::value::RawValue;
use serde_json::{Number, Value};

use super::Members;
use super::members::{raw, text};

/// The answer of a sink: whether it has taken note, and what it measured.
///
/// Sinks are not in the SEP's first text; the form is that of the reference implementation. A sink's answer
/// never blocks anything.
///
/// ```
/// use mcp_interceptors::interceptor::SinkResult;
///
/// let noted = SinkResult::recorded().with_metric("payloadBytes", 256);
/// assert_eq!(noted.metrics.get("payloadBytes").unwrap().get(), "256");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SinkResult {
    /// Whether it has taken note.
    pub recorded: bool,
    /// Numbers by name.
    pub metrics: Members,
    /// Anything else: an object.
    pub info: Option<Box<RawValue>>,
}

impl SinkResult {
    /// It has taken note.
    #[must_use]
    pub fn recorded() -> Self {
        Self {
            recorded: true,
            metrics: Members::new(),
            info: None,
        }
    }

    /// It has not taken note.
    #[must_use]
    pub fn skipped() -> Self {
        Self {
            recorded: false,
            ..Self::recorded()
        }
    }

    /// Sets a metric. A fraction goes in as `Number::from_f64(…)`.
    #[must_use]
    pub fn with_metric(mut self, name: impl Into<Box<str>>, value: impl Into<Number>) -> Self {
        self.metrics.insert(name, raw(Value::Number(value.into())));
        self
    }

    /// Sets `info`.
    #[must_use]
    pub fn with_info(mut self, info: impl Into<Value>) -> Self {
        self.info = Some(raw(info));
        self
    }
}

impl PartialEq for SinkResult {
    /// Raw members are equal when their texts are.
    fn eq(&self, other: &Self) -> bool {
        self.recorded == other.recorded
            && self.metrics == other.metrics
            && text(self.info.as_deref()) == text(other.info.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_keep_whole_numbers_whole() {
        let result = SinkResult::recorded()
            .with_metric("latencyMs", Number::from_f64(12.5).unwrap())
            .with_metric("payloadBytes", 256);
        assert_eq!(
            serde_json::to_string(&result.metrics).unwrap(),
            r#"{"latencyMs":12.5,"payloadBytes":256}"#
        );
        assert!(!SinkResult::skipped().recorded);
    }
}

//! Times on the wire: milliseconds, written as integers, read as any number.

use std::time::Duration;

use serde_json::value::RawValue;

/// The largest integer that every JSON reader keeps exact.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// To the nearest millisecond.
pub(super) fn nearest(time: Duration) -> u64 {
    whole(time.saturating_add(Duration::from_micros(500)))
}

/// Rounded up, at least one: for limits, where 0 means something else or nothing.
pub(super) fn limit(time: Duration) -> u64 {
    whole(time.saturating_add(Duration::from_nanos(999_999))).max(1)
}

fn whole(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).min(MAX_SAFE)
}

/// A number of milliseconds that is not negative and not beyond what a [`Duration`] holds.
pub(super) fn from_millis(millis: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(millis / 1000.0).ok()
}

/// As [`from_millis`], from raw text.
pub(super) fn read(raw: &RawValue) -> Option<Duration> {
    serde_json::from_str(raw.get()).ok().and_then(from_millis)
}

/// For `#[serde(with)]`: a duration in whole milliseconds.
pub(super) mod as_millis {
    use std::time::Duration;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        time: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(super::nearest(*time))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        super::from_millis(f64::deserialize(deserializer)?)
            .ok_or_else(|| D::Error::custom("a time must be a number that is not negative"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_to_nearest_and_limits_up() {
        for (micros, near, up) in [
            (0, 0, 1),
            (400, 0, 1),
            (500, 1, 1),
            (1_000, 1, 1),
            (1_001, 1, 2),
            (1_500, 2, 2),
            (42_000, 42, 42),
        ] {
            let time = Duration::from_micros(micros);
            assert_eq!((nearest(time), limit(time)), (near, up), "{micros}");
        }
        assert_eq!(
            (nearest(Duration::MAX), limit(Duration::MAX)),
            (MAX_SAFE, MAX_SAFE)
        );
    }

    #[test]
    fn any_number_that_is_not_negative_is_read() {
        assert_eq!(from_millis(5000.0), Some(Duration::from_secs(5)));
        assert_eq!(from_millis(1.5), Some(Duration::from_micros(1500)));
        for bad in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(from_millis(bad), None, "{bad}");
        }
    }
}

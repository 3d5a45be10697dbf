//! RFC 3339 without a date library.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A time as RFC 3339 in UTC with milliseconds, for example `2026-07-28T09:30:00.250Z`: the form in which
/// SEP-2624 has timestamps.
///
/// RFC 3339 has the years 0 to 9999; times outside become the nearest one inside.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// use mcp_interceptors::interceptor::rfc3339_utc;
///
/// assert_eq!(rfc3339_utc(UNIX_EPOCH + Duration::from_millis(1_500)), "1970-01-01T00:00:01.500Z");
/// ```
#[must_use]
pub fn rfc3339_utc(time: SystemTime) -> String {
    /// 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z.
    const RANGE: (i64, i64) = (-62_167_219_200_000, 253_402_300_799_999);
    let millis = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        // Before 1970 the part of a millisecond that is cut off is cut off downwards too.
        Err(before) => {
            let before = before.duration().saturating_add(Duration::from_nanos(999_999));
            i64::try_from(before.as_millis()).map_or(i64::MIN, |millis| -millis)
        }
    };
    let millis = millis.clamp(RANGE.0, RANGE.1);
    let (days, millis) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let (year, month, day) = civil_from_days(days);
    let (seconds, millis) = (millis / 1000, millis % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Year, month and day of a number of days since 1970-01-01, in the Gregorian calendar.
///
/// Years are counted from March, so that the leap day is the last of its year, in eras of 400 years, which all
/// have the same number of days.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    const ERA: i64 = 146_097;
    let days = days + 719_468; // since 0000-03-01
    let (era, day_of_era) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> String {
        let ago = Duration::from_secs(seconds.unsigned_abs());
        rfc3339_utc(if seconds < 0 {
            UNIX_EPOCH - ago
        } else {
            UNIX_EPOCH + ago
        })
    }

    #[test]
    fn known_times() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_709_164_800, "2024-02-29T00:00:00.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (4_107_542_399, "2100-02-28T23:59:59.000Z"),
            (1_785_231_000, "2026-07-28T09:30:00.000Z"),
            (-2_208_988_800, "1900-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(at(seconds), text);
        }
    }

    #[test]
    fn milliseconds_are_cut_off_downwards_on_both_sides_of_1970() {
        let nanos = Duration::from_nanos(1_999_999);
        assert_eq!(rfc3339_utc(UNIX_EPOCH + nanos), "1970-01-01T00:00:00.001Z");
        assert_eq!(rfc3339_utc(UNIX_EPOCH - nanos), "1969-12-31T23:59:59.998Z");
    }

    #[test]
    fn times_outside_the_format_become_its_ends() {
        assert_eq!(at(253_402_300_800), "9999-12-31T23:59:59.999Z");
        assert_eq!(at(-62_167_219_201), "0000-01-01T00:00:00.000Z");
        assert_eq!(at(-62_167_219_200), "0000-01-01T00:00:00.000Z");
    }

    #[test]
    fn every_day_of_eight_centuries_follows_the_one_before() {
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let (mut year, mut month, mut day) = (1600, 1, 1);
        let first = -135_140; // 1600-01-01
        for days in first..first + 2 * 146_097 {
            assert_eq!(civil_from_days(days), (year, month, day));
            let length = match month {
                2 => 28 + i64::from(leap(year)),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
    }
}

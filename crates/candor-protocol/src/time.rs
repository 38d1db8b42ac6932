//! Timestamps as the protocol writes them.

use std::time::{SystemTime, UNIX_EPOCH};

/// Formats a time as RFC 3339 in UTC, to the millisecond: `2026-07-28T09:30:00.250Z`. Returns `None` for years outside 0 to 9999.
#[must_use]
pub fn rfc3339(time: SystemTime) -> Option<String> {
    let (seconds, millis) = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => (i64::try_from(since.as_secs()).ok()?, since.subsec_millis()),
        Err(before) => {
            let before = before.duration();
            // Round down, so that the fraction always counts forward.
            let millis = i64::try_from(before.as_nanos().div_ceil(1_000_000)).ok()?;
            let seconds = (-millis).div_euclid(1000);
            (seconds, u32::try_from((-millis).rem_euclid(1000)).ok()?)
        }
    };
    let (year, month, day) = date(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    if !(0..=9999).contains(&year) {
        return None;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    // Digit by digit: a list has thousands of timestamps, and `format!` takes several times as long.
    let mut text = String::from("0000-00-00T00:00:00.000Z").into_bytes();
    let mut put = |end: usize, mut number: i64| {
        for digit in text[..end].iter_mut().rev() {
            if number == 0 {
                break;
            }
            *digit += u8::try_from(number % 10).unwrap_or_default();
            number /= 10;
        }
    };
    put(4, year);
    put(7, month);
    put(10, day);
    put(13, hour);
    put(16, minute);
    put(19, second);
    put(23, millis.into());
    String::from_utf8(text).ok()
}

/// Returns the Gregorian date of a day counted from 1970. Years are counted from March, so that the leap day is the last one,
/// and in eras of 400 years, after which the calendar repeats.
fn date(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468; // from 0000-03-01
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(seconds: u64, millis: u64) -> String {
        rfc3339(UNIX_EPOCH + Duration::from_millis(seconds * 1000 + millis)).unwrap()
    }

    #[test]
    fn known_times_are_formatted_as_rfc_3339() {
        assert_eq!(at(0, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_399, 999), "2000-02-28T23:59:59.999Z");
        assert_eq!(at(951_782_400, 0), "2000-02-29T00:00:00.000Z");
        assert_eq!(at(4_107_542_400, 0), "2100-03-01T00:00:00.000Z");
        assert_eq!(at(1_785_230_999, 1), "2026-07-28T09:29:59.001Z");
        assert_eq!(at(253_402_300_799, 0), "9999-12-31T23:59:59.000Z");
    }

    #[test]
    fn time_before_the_epoch_is_formatted_rounded_down() {
        let before = |millis| rfc3339(UNIX_EPOCH - Duration::from_millis(millis));
        assert_eq!(before(1).unwrap(), "1969-12-31T23:59:59.999Z");
        let nanosecond = UNIX_EPOCH - Duration::from_nanos(1);
        assert_eq!(rfc3339(nanosecond).unwrap(), "1969-12-31T23:59:59.999Z", "downwards");
        assert_eq!(before(86_400_000).unwrap(), "1969-12-31T00:00:00.000Z");
        assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(253_402_300_800)), None);
    }
}

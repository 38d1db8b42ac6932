//! Points in time and durations: how they are written and read.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use candor_ledger::Moment;

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Returns the time by the clock of this machine.
pub fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Returns the time as RFC 3339 in UTC, to the millisecond; `None` for years that it cannot write.
pub fn exact(moment: Moment) -> Option<String> {
    let away = Duration::from_millis(moment.0.unsigned_abs());
    let time =
        if moment.0 < 0 { UNIX_EPOCH.checked_sub(away) } else { UNIX_EPOCH.checked_add(away) };
    candor_protocol::time::rfc3339(time?)
}

/// Returns the time for users, who get a number if RFC 3339 cannot write the year.
pub fn written(moment: Moment) -> String {
    exact(moment).unwrap_or_else(|| format!("{} ms after 1970", moment.0))
}

/// Returns how long ago it was. For a time in the future, or 30 days ago and more, returns the time itself.
pub fn ago(moment: Moment, now: Moment) -> String {
    match now.0.saturating_sub(moment.0) {
        0..SECOND => "just now".to_owned(),
        past @ SECOND..MINUTE => format!("{} s ago", past / SECOND),
        past @ MINUTE..HOUR => format!("{} min ago", past / MINUTE),
        past @ HOUR..DAY => format!("{} h ago", past / HOUR),
        past if (DAY..30 * DAY).contains(&past) => format!("{} d ago", past / DAY),
        _ => written(moment),
    }
}

/// Returns a duration for users, in at most two units.
pub fn length(time: Duration) -> String {
    let seconds = time.as_secs();
    match time.as_millis() {
        0 => format!("{} µs", time.as_micros()),
        millis @ 1..1000 => format!("{millis} ms"),
        1000..60_000 => format!("{:.1} s", time.as_secs_f64()),
        60_000..3_600_000 => two(seconds / 60, "min", seconds % 60, "s"),
        3_600_000..86_400_000 => two(seconds / 3600, "h", seconds / 60 % 60, "min"),
        _ => two(seconds / 86_400, "d", seconds / 3600 % 24, "h"),
    }
}

fn two(many: u64, unit: &str, rest: u64, smaller: &str) -> String {
    if rest == 0 { format!("{many} {unit}") } else { format!("{many} {unit} {rest} {smaller}") }
}

/// Parses a time: `2026-07-28T09:30:00Z`, `2026-07-28` (its first moment in UTC), or `2h` for two hours ago.
pub fn read(text: &str) -> Result<Moment, String> {
    relative(text)
        .and_then(|ago| now().0.checked_sub(ago))
        .or_else(|| absolute(text))
        .map(Moment)
        .ok_or_else(|| {
            "write a time as 2026-07-28T09:30:00Z or 2026-07-28 (UTC), or how long ago as 30s, 15m, 2h, 3d or 1w"
                .to_owned()
        })
}

/// Parses a duration: `15m` for 15 minutes.
pub fn read_length(text: &str) -> Result<Duration, String> {
    relative(text)
        .and_then(|millis| u64::try_from(millis).ok())
        .filter(|millis| *millis > 0)
        .map(Duration::from_millis)
        .ok_or_else(|| "write how long as 30s, 15m, 2h, 3d or 1w".to_owned())
}

fn relative(text: &str) -> Option<i64> {
    let unit = match text.chars().last()? {
        's' => SECOND,
        'm' => MINUTE,
        'h' => HOUR,
        'd' => DAY,
        'w' => 7 * DAY,
        _ => return None,
    };
    let digits = &text[..text.len() - 1];
    digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    digits.parse::<i64>().ok()?.checked_mul(unit)
}

fn absolute(text: &str) -> Option<i64> {
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=last).contains(&day).then_some(())?;
    let midnight = days(year, month, day) * DAY;
    let Some(time) = time else { return Some(midnight) };

    let zone = time.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = time.split_at(zone);
    let (clock, fraction) = clock.split_once('.').map_or((clock, None), |(c, f)| (c, Some(f)));
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    // A leap second counts as the second before it.
    (hour < 24 && minute < 60 && second <= 60).then_some(())?;
    let millis = match fraction {
        None => 0,
        Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            format!("{digits:0<3}").get(..3)?.parse().ok()?
        }
        Some(_) => return None,
    };
    let offset = match zone {
        "Z" | "z" => 0,
        _ => {
            let [hours, minutes] = numbers(&zone[1..], ':', [2, 2])?;
            (hours < 24 && minutes < 60).then_some(())?;
            let offset = hours * HOUR + minutes * MINUTE;
            if zone.starts_with('-') { -offset } else { offset }
        }
    };
    Some(midnight + hour * HOUR + minute * MINUTE + second.min(59) * SECOND + millis - offset)
}

/// Parses numbers, each with this number of digits.
fn numbers<const N: usize>(text: &str, between: char, digits: [usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(between);
    let mut numbers = [0; N];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next()?;
        let plain = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = plain.then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(numbers)
}

/// Returns the days from 1970 to a Gregorian date. Years are counted from March, so that the leap day is the last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_round_trips() {
        for text in [
            "1970-01-01T00:00:00.000Z",
            "2000-02-29T23:59:59.999Z",
            "2026-07-28T09:30:00.250Z",
            "1969-12-31T23:59:59.999Z",
            "0000-03-01T00:00:00.000Z",
            "9999-12-31T23:59:59.999Z",
        ] {
            assert_eq!(exact(read(text).unwrap()).as_deref(), Some(text));
        }
    }

    #[test]
    fn time_accepts_zones_fractions_and_dates() {
        let same = |a: &str, b: &str| assert_eq!(read(a), read(b), "{a}");
        same("2026-07-28T09:30:00+02:00", "2026-07-28T07:30:00Z");
        same("2026-07-28 09:30:00.5-01:30", "2026-07-28T11:00:00.500Z");
        same("2026-07-28", "2026-07-28T00:00:00Z");
        same("2026-07-28T09:30:00.1239Z", "2026-07-28T09:30:00.123Z");
    }

    #[test]
    fn time_accepts_ages() {
        let before = |text: &str| now().0 - read(text).unwrap().0;
        for (text, millis) in [("0s", 0), ("90s", 90_000), ("2h", 7_200_000), ("1w", 604_800_000)] {
            assert!((millis..millis + 5000).contains(&before(text)), "{text}");
        }
    }

    #[test]
    fn duration_needs_a_positive_whole_number_and_a_unit() {
        assert_eq!(read_length("15m"), Ok(Duration::from_secs(900)));
        for none in ["", "0s", "15", "-1h", "1.5h", "forever"] {
            assert!(read_length(none).is_err(), "{none}");
        }
    }

    #[test]
    fn malformed_time_is_refused() {
        for text in [
            "",
            "h",
            "2",
            "-2h",
            "1.5h",
            "+1h",
            "2 h",
            "99999999999999999999d",
            "9223372036854775807d",
            "2026-7-28",
            "2026-13-01",
            "2026-02-29",
            "2026-07-28T09:30Z",
            "2026-07-28T09:30:00",
            "2026-07-28T24:00:00Z",
            "2026-07-28T09:30:00.Z",
            "2026-07-28T09:30:00+2:00",
            "2026-07-28T09:30:00é",
            "yesterday",
            "é",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_and_durations_are_rounded_for_display() {
        let at = |before: i64| ago(Moment(1_785_231_000_250 - before), Moment(1_785_231_000_250));
        assert_eq!(at(0), "just now");
        assert_eq!(at(3 * MINUTE + 59 * SECOND), "3 min ago");
        assert_eq!(at(25 * HOUR), "1 d ago");
        assert_eq!(at(31 * DAY), "2026-06-27T09:30:00.250Z");
        assert_eq!(at(-MINUTE), "2026-07-28T09:31:00.250Z", "a clock that is ahead of ours");
        assert_eq!(written(Moment(i64::MAX)), "9223372036854775807 ms after 1970");
        let said = |millis| length(Duration::from_millis(millis));
        assert_eq!([12, 3400, 125_000].map(said), ["12 ms", "3.4 s", "2 min 5 s"]);
        assert_eq!([3_600_000, 180_000_000].map(said), ["1 h", "2 d 2 h"]);
        assert_eq!(length(Duration::from_micros(340)), "340 µs");
    }
}

//! Dates and times of RFC 3339.

/// Returns true for `YYYY-MM-DD`, if the calendar has that day.
pub(super) fn is_date(text: &str) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text.as_bytes() else { return false };
    let (Some(century), Some(year), Some(month), Some(day)) =
        (pair(*y1, *y2), pair(*y3, *y4), pair(*m1, *m2), pair(*d1, *d2))
    else {
        return false;
    };
    let year = century * 100 + year;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// Parses `HH:MM:SS` and fractions of a second. Also returns the rest of the text.
fn clock(text: &str) -> Option<(i32, i32, i32, &[u8])> {
    let [h1, h2, b':', m1, m2, b':', s1, s2, rest @ ..] = text.as_bytes() else { return None };
    let (hour, minute, second) = (pair(*h1, *h2)?, pair(*m1, *m2)?, pair(*s1, *s2)?);
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let rest = match rest {
        [b'.', fraction @ ..] => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return None;
            }
            &fraction[digits..]
        }
        rest => rest,
    };
    Some((hour, minute, second, rest))
}

/// Returns true for a time without an offset. The seconds are optional: chrono reads such a time, too.
pub(super) fn is_partial_time(text: &str) -> bool {
    let has_no_seconds = text.len() == "HH:MM".len();
    let text = if has_no_seconds { format!("{text}:00") } else { text.to_owned() };
    clock(&text).is_some_and(|(.., rest)| rest.is_empty())
}

/// Returns true for a date, `T`, and a time without an offset.
pub(super) fn is_partial_date_time(text: &str) -> bool {
    text.split_once('T').is_some_and(|(date, time)| {
        is_date(date) && clock(time).is_some_and(|(.., rest)| rest.is_empty())
    })
}

/// Returns true for `HH:MM:SS`, fractions of a second, and `Z` or an offset.
pub(super) fn is_time(text: &str) -> bool {
    let Some((hour, minute, second, rest)) = clock(text) else { return false };
    let offset = match rest {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => match (pair(*h1, *h2), pair(*m1, *m2)) {
            (Some(hours @ 0..=23), Some(minutes @ 0..=59)) => {
                let offset = hours * 60 + minutes;
                if *sign == b'+' { offset } else { -offset }
            }
            _ => return false,
        },
        _ => return false,
    };
    // A leap second is the last of a day, in UTC.
    second < 60 || (hour * 60 + minute - offset).rem_euclid(24 * 60) == 23 * 60 + 59
}

/// Returns true for a date, `T`, and a time.
pub(super) fn is_date_time(text: &str) -> bool {
    match (text.get(..10), text.as_bytes().get(10), text.get(11..)) {
        (Some(date), Some(b'T' | b't'), Some(time)) => is_date(date) && is_time(time),
        _ => false,
    }
}

/// Returns true for `P1Y2M3DT4H5M6S` or `P7W`: units in order, without gaps.
pub(super) fn is_duration(text: &str) -> bool {
    let Some(text) = text.strip_prefix('P') else { return false };
    if let Some(weeks) = text.strip_suffix('W') {
        return !weeks.is_empty() && weeks.bytes().all(|byte| byte.is_ascii_digit());
    }
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    match time {
        None => is_run_of(date, "YMD"),
        Some(time) => (date.is_empty() || is_run_of(date, "YMD")) && is_run_of(time, "HMS"),
    }
}

/// Returns true if a text is numbers with consecutive units.
fn is_run_of(text: &str, units: &str) -> bool {
    let mut expected: Option<usize> = None;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let unit = rest[digits..].chars().next().and_then(|unit| units.find(unit));
        match unit {
            Some(unit) if digits > 0 && expected.is_none_or(|expected| expected == unit) => {
                expected = Some(unit + 1);
                rest = &rest[digits + 1..];
            }
            _ => return false,
        }
    }
    expected.is_some()
}

fn pair(tens: u8, ones: u8) -> Option<i32> {
    (tens.is_ascii_digit() && ones.is_ascii_digit())
        .then(|| i32::from(tens - b'0') * 10 + i32::from(ones - b'0'))
}

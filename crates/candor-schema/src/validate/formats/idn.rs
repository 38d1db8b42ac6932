//! Internationalized names: `idn-hostname`, `idn-email`, and the labels of a `hostname` that are Punycode.
//!
//! This module checks the RFC 5892 rules for characters in context, and decodes Punycode. It does not have Unicode's tables
//! for other properties of characters, so it accepts some names that a registry would refuse.

use super::net;

/// Returns true for a host name of RFC 5890, in letters of any script.
pub(super) fn is_hostname(text: &str) -> bool {
    // Dots of other scripts separate labels too.
    let labels: Vec<&str> = text.split(['.', '\u{3002}', '\u{ff0e}', '\u{ff61}']).collect();
    let mut length = labels.len() - 1;
    for label in &labels {
        let Some(encoded) = encoded_length(label) else { return false };
        length += encoded;
        if !(1..=63).contains(&encoded) || !is_label(label) {
            return false;
        }
    }
    length <= 253
}

/// Returns true for an ASCII host name whose Punycode labels decode to valid ones.
pub(super) fn is_ascii_hostname(text: &str) -> bool {
    net::is_ascii_hostname(text) && text.split('.').all(is_label)
}

/// Returns true for a mailbox with letters of any script.
pub(super) fn is_email(text: &str) -> bool {
    net::is_mailbox(text, is_hostname)
}

fn is_label(label: &str) -> bool {
    if label.is_ascii() {
        return match label.as_bytes() {
            [b'x' | b'X', b'n' | b'N', b'-', b'-', ..] => {
                decode(&label[4..]).is_some_and(|label| !label.is_ascii() && is_foreign(&label))
            }
            [_, _, b'-', b'-', ..] => false,
            _ => net::is_ascii_hostname(label),
        };
    }
    is_foreign(label)
}

/// Returns true for a valid label with letters beyond ASCII.
fn is_foreign(label: &str) -> bool {
    let third_and_fourth = label.chars().skip(2).take(2).eq("--".chars());
    !third_and_fourth && !label.starts_with('-') && !label.ends_with('-') && fits_context(label)
}

/// Returns true if each character is allowed in its context (RFC 5892, appendix A, and its exceptions).
fn fits_context(label: &str) -> bool {
    let chars: Vec<char> = label.chars().collect();
    let any = |range: fn(char) -> bool| chars.iter().any(|c| range(*c));
    let fits = |(i, c): (usize, &char)| {
        let before = i.checked_sub(1).map(|i| chars[i]);
        let behind = chars.get(i + 1).copied();
        match *c {
            '\u{b7}' => before == Some('l') && behind == Some('l'),
            '\u{375}' => behind.is_some_and(is_greek),
            '\u{5f3}' | '\u{5f4}' => before.is_some_and(|c| matches!(c, '\u{590}'..='\u{5ff}')),
            '\u{200d}' => before.is_some_and(is_virama),
            '\u{200c}' => before.is_some_and(is_virama) || joins(&chars, i),
            '\u{30fb}' => any(is_japanese),
            '\u{660}'..='\u{669}' => !any(|c| matches!(c, '\u{6f0}'..='\u{6f9}')),
            '\u{640}'
            | '\u{7fa}'
            | '\u{302e}'
            | '\u{302f}'
            | '\u{3031}'..='\u{3035}'
            | '\u{303b}' => false,
            '\u{6fd}' | '\u{6fe}' | '\u{f0b}' | '\u{3007}' => true,
            c if c.is_ascii() => c.is_ascii_alphanumeric() || c == '-',
            c => c.is_alphanumeric() || may_be_mark(c),
        }
    };
    // A mark belongs to a letter before it.
    let headless = chars.first().is_some_and(|c| is_known_mark(*c));
    !headless && chars.iter().enumerate().all(fits)
}

fn is_greek(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}')
}

fn is_japanese(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}')
        || matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{2_0000}'..='\u{3_ffff}')
}

/// Returns true for a virama: a sign that removes a vowel, after which joiners have a meaning. Each block of the Indic scripts
/// has one.
fn is_virama(c: char) -> bool {
    matches!(
        c,
        '\u{94d}'
            | '\u{9cd}'
            | '\u{a4d}'
            | '\u{acd}'
            | '\u{b4d}'
            | '\u{bcd}'
            | '\u{c4d}'
            | '\u{ccd}'
            | '\u{d4d}'
            | '\u{dca}'
            | '\u{e3a}'
            | '\u{f84}'
            | '\u{1039}'
            | '\u{17d2}'
            | '\u{1b44}'
    )
}

/// Returns true between letters of a joined script, where a non-joiner has a meaning.
fn joins(chars: &[char], at: usize) -> bool {
    let joined = |c: &char| matches!(c, '\u{620}'..='\u{6ff}' | '\u{710}'..='\u{74f}');
    chars[..at].last().is_some_and(joined) && chars.get(at + 1).is_some_and(joined)
}

/// Returns true if a character may be a mark. The standard library does not tell marks from symbols, but they are in few
/// blocks.
fn may_be_mark(c: char) -> bool {
    is_known_mark(c)
        || matches!(c, '\u{900}'..='\u{1cff}' | '\u{a800}'..='\u{abff}' | '\u{1_1000}'..='\u{1_1fff}')
}

fn is_known_mark(c: char) -> bool {
    matches!(
        c,
        '\u{300}'..='\u{36f}'
            | '\u{483}'..='\u{489}'
            | '\u{591}'..='\u{5bd}'
            | '\u{610}'..='\u{61a}'
            | '\u{64b}'..='\u{65f}'
            | '\u{900}'..='\u{903}'
            | '\u{93e}'..='\u{94d}'
            | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}'
            | '\u{302a}'..='\u{302f}'
            | '\u{3099}'
            | '\u{309a}'
            | '\u{fe20}'..='\u{fe2f}'
    )
}

// Punycode (RFC 3492).
const BASE: u32 = 36;
const LEAST: u32 = 1;
const MOST: u32 = 26;

/// Returns the bias for the next character.
fn adapted(delta: u32, characters: u32, first: bool) -> u32 {
    let mut delta = if first { delta / 700 } else { delta / 2 };
    delta += delta / characters;
    let mut k = 0;
    while delta > (BASE - LEAST) * MOST / 2 {
        delta /= BASE - LEAST;
        k += BASE;
    }
    k + (BASE - LEAST + 1) * delta / (delta + 38)
}

fn decode(text: &str) -> Option<String> {
    let (mut out, rest): (Vec<char>, &str) = match text.rsplit_once('-') {
        Some((plain, rest)) => (plain.chars().collect(), rest),
        None => (Vec::new(), text),
    };
    let (mut code, mut at, mut bias) = (128_u32, 0_u32, 72);
    let mut digits = rest.bytes();
    while digits.len() > 0 {
        let (before, mut weight, mut k) = (at, 1_u32, BASE);
        loop {
            let digit = match digits.next()? {
                byte @ b'0'..=b'9' => u32::from(byte - b'0') + 26,
                byte if byte.is_ascii_alphabetic() => u32::from(byte.to_ascii_lowercase() - b'a'),
                _ => return None,
            };
            at = at.checked_add(digit.checked_mul(weight)?)?;
            let limit = k.saturating_sub(bias).clamp(LEAST, MOST);
            if digit < limit {
                break;
            }
            weight = weight.checked_mul(BASE - limit)?;
            k += BASE;
        }
        let length = u32::try_from(out.len()).ok()? + 1;
        bias = adapted(at - before, length, before == 0);
        code = code.checked_add(at / length)?;
        at %= length;
        out.insert(at as usize, char::from_u32(code)?);
        at += 1;
    }
    Some(out.into_iter().collect())
}

/// Returns the length of a label in ASCII.
fn encoded_length(label: &str) -> Option<usize> {
    if label.is_ascii() {
        return Some(label.len());
    }
    let chars: Vec<u32> = label.chars().map(u32::from).collect();
    // Longer labels are invalid in any case, and encoding takes quadratic time.
    if chars.len() > 63 {
        return None;
    }
    let plain = chars.iter().filter(|c| **c < 128).count();
    let mut length = "xn--".len() + plain + usize::from(plain > 0);
    let (mut code, mut delta, mut bias, mut handled) = (128_u32, 0_u32, 72, plain);
    while handled < chars.len() {
        let next = chars.iter().copied().filter(|c| *c >= code).min()?;
        let step = u32::try_from(handled).ok()? + 1;
        delta = delta.checked_add((next - code).checked_mul(step)?)?;
        code = next;
        for c in &chars {
            delta += u32::from(*c < code);
            if *c == code {
                let (mut rest, mut k) = (delta, BASE);
                loop {
                    length += 1;
                    let limit = k.saturating_sub(bias).clamp(LEAST, MOST);
                    if rest < limit {
                        break;
                    }
                    rest = (rest - limit) / (BASE - limit);
                    k += BASE;
                }
                bias = adapted(delta, u32::try_from(handled).ok()? + 1, handled == plain);
                delta = 0;
                handled += 1;
            }
        }
        delta += 1;
        code += 1;
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punycode_is_decoded_and_measured() {
        for (plain, encoded) in
            [("bücher", "bcher-kva"), ("日本語", "wgv71a119e"), ("실례", "9n2bp8q"), ("ñ", "ida")]
        {
            assert_eq!(decode(encoded).as_deref(), Some(plain));
            assert_eq!(encoded_length(plain), Some(encoded.len() + 4));
        }
        assert_eq!(decode("99999999"), None);
        assert_eq!(decode("a-ü"), None);
    }
}

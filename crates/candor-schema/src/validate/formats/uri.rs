//! URIs (RFC 3986) and IRIs (RFC 3987), absolute or not.

use super::net;
use super::template::percents_fit;

/// Whether characters beyond ASCII are allowed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Letters {
    Ascii,
    All,
}

pub(super) fn is_uri(text: &str) -> bool {
    is_absolute(text, Letters::Ascii)
}

pub(super) fn is_uri_reference(text: &str) -> bool {
    is_absolute(text, Letters::Ascii) || is_relative(text, Letters::Ascii)
}

pub(super) fn is_iri(text: &str) -> bool {
    is_absolute(text, Letters::All)
}

pub(super) fn is_iri_reference(text: &str) -> bool {
    is_absolute(text, Letters::All) || is_relative(text, Letters::All)
}

fn is_absolute(text: &str, letters: Letters) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let schematic = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(schematic)
        && is_rest(rest, letters)
}

/// Returns true for a relative reference. Its first segment must not look like a scheme.
fn is_relative(text: &str, letters: Letters) -> bool {
    let first = text.split(['/', '?', '#']).next().unwrap_or_default();
    !first.contains(':') && is_rest(text, letters)
}

/// Returns true for authority, path, query and fragment.
fn is_rest(text: &str, letters: Letters) -> bool {
    let (text, fragment) = split(text, '#');
    let (text, query) = split(text, '?');
    let (authority, path) = match text.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", text),
    };
    let of = |text: &str, also: &str| is_of(text, also, letters);
    is_authority(authority, letters)
        && of(path, "/:@")
        && query.is_none_or(|query| {
            // Only a query may hold characters for private use.
            of(query, "/:@?")
                || (letters == Letters::All && of(&query.replace(is_private, ""), "/:@?"))
        })
        && fragment.is_none_or(|fragment| of(fragment, "/:@?"))
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((before, behind)) => (before, Some(behind)),
        None => (text, None),
    }
}

fn is_authority(text: &str, letters: Letters) -> bool {
    let (user, host) = match text.rsplit_once('@') {
        Some((user, host)) => (user, host),
        None => ("", text),
    };
    if !is_of(user, ":", letters) {
        return false;
    }
    let (host, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let Some((literal, port)) = rest.split_once(']') else { return false };
            if !is_ip_literal(literal) {
                return false;
            }
            ("", port)
        }
        None => host.split_at(host.rfind(':').unwrap_or(host.len())),
    };
    let digits = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    is_of(host, "", letters) && (port.is_empty() || port.strip_prefix(':').is_some_and(digits))
}

fn is_ip_literal(text: &str) -> bool {
    match text.strip_prefix(['v', 'V']) {
        Some(future) => future.split_once('.').is_some_and(|(version, address)| {
            !version.is_empty()
                && version.bytes().all(|byte| byte.is_ascii_hexdigit())
                && !address.is_empty()
                && !address.contains('%')
                && is_of(address, ":", Letters::Ascii)
        }),
        None => net::is_ipv6(text),
    }
}

/// Returns true if a text has only characters that need no escape, those in `also`, and escapes.
fn is_of(text: &str, also: &str, letters: Letters) -> bool {
    let fits = |c: char| match c {
        _ if c.is_ascii_alphanumeric() => true,
        _ if c.is_ascii() => "-._~!$&'()*+,;=%".contains(c) || also.contains(c),
        _ => letters == Letters::All && is_letter(c),
    };
    text.chars().all(fits) && percents_fit(text)
}

/// Returns true for `ucschar` of RFC 3987.
fn is_letter(c: char) -> bool {
    let code = u32::from(c);
    let in_plane = (code & 0xffff) <= 0xfffd;
    matches!(code, 0xa0..=0xd7ff | 0xf900..=0xfdcf | 0xfdf0..=0xffef)
        || ((0x1_0000..0xe_0000).contains(&code) && in_plane)
        || ((0xe_1000..0xf_0000).contains(&code) && in_plane)
}

/// Returns true for `iprivate` of RFC 3987.
fn is_private(c: char) -> bool {
    let code = u32::from(c);
    matches!(code, 0xe000..=0xf8ff) || (code >= 0xf_0000 && (code & 0xffff) <= 0xfffd)
}

//! Names and addresses in networks.

use std::net::{Ipv4Addr, Ipv6Addr};

pub(super) fn is_ipv4(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok()
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

/// Returns true if a text has labels of letters, digits and inner hyphens (RFC 1123).
pub(super) fn is_ascii_hostname(text: &str) -> bool {
    (1..=253).contains(&text.len()) && text.split('.').all(is_ascii_label)
}

fn is_ascii_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Returns true for an address of RFC 5321, without comments.
pub(super) fn is_email(text: &str) -> bool {
    text.is_ascii() && is_mailbox(text, super::idn::is_ascii_hostname)
}

/// Returns true for a mailbox; `is_hostname` checks its domain.
pub(super) fn is_mailbox(text: &str, is_hostname: fn(&str) -> bool) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    if local.len() > 64 || domain.len() > 254 {
        return false;
    }
    let local_fits = match local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) if local.len() >= 2 => is_quoted(quoted),
        _ => local.split('.').all(is_atom),
    };
    local_fits && is_domain(domain, is_hostname)
}

fn is_atom(atom: &str) -> bool {
    let special = |c: char| "!#$%&'*+/=?^_`{|}~-".contains(c);
    !atom.is_empty()
        && atom.chars().all(|c| c.is_ascii_alphanumeric() || special(c) || !c.is_ascii())
}

fn is_quoted(text: &str) -> bool {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let printable = |c: char| matches!(c, ' '..='~') || !c.is_ascii();
        let fits = match c {
            '\\' => chars.next().is_some_and(printable),
            '"' => false,
            other => printable(other),
        };
        if !fits {
            return false;
        }
    }
    true
}

fn is_domain(domain: &str, is_hostname: fn(&str) -> bool) -> bool {
    match domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(literal) => match literal.get(..5) {
            Some(tag) if tag.eq_ignore_ascii_case("IPv6:") => is_ipv6(&literal[5..]),
            _ => is_ipv4(literal),
        },
        None => is_hostname(domain),
    }
}

//! Checks of URIs and their prefixes.

/// Longer URIs are mistakes or attacks.
const LONGEST: usize = 8192;

/// Returns what is wrong with a text that should be a URI.
///
/// Non-ASCII characters are allowed (RFC 3987): many servers have them in their URIs, and clients send back what they got.
pub(crate) fn problem(uri: &str) -> Option<&'static str> {
    if uri.len() > LONGEST {
        return Some("it is longer than 8192 bytes");
    }
    let Some((scheme, _)) = uri.split_once(':') else {
        return Some("it has no scheme, such as file: or https:");
    };
    let mut letters = scheme.bytes();
    if !letters.next().is_some_and(|b| b.is_ascii_alphabetic())
        || !letters.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    {
        return Some("it has no scheme, such as file: or https:");
    }
    if uri.chars().any(|c| c.is_control() || matches!(c, ' ' | '<' | '>' | '"' | '\\' | '^' | '`'))
    {
        return Some("it has characters that must be percent-encoded");
    }
    let mut rest = uri;
    while let Some((_, after)) = rest.split_once('%') {
        if !after.as_bytes().get(..2).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) {
            return Some("it has a % without two hexadecimal digits after it");
        }
        rest = after;
    }
    None
}

/// Returns true if a URI equals a prefix or is inside it: `file:///a` covers `file:///a/b` but not `file:///ab`.
pub(crate) fn covers(prefix: &str, uri: &str) -> bool {
    match uri.strip_prefix(prefix) {
        None => false,
        Some(rest) => {
            rest.is_empty()
                || prefix.is_empty()
                || prefix.ends_with(['/', ':', '?', '#'])
                || rest.starts_with(['/', '?', '#'])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_uri_is_refused_with_the_reason() {
        for uri in [
            "file:///a%20b",
            "urn:isbn:1",
            "drive-multi:?ids=a,b,c",
            "x+y.z-1:",
            "memo:///käse",
            "test://[::1]/{a}|",
        ] {
            assert_eq!(problem(uri), None, "{uri}");
        }
        for (uri, why) in [
            ("", "scheme"),
            ("/etc/passwd", "scheme"),
            ("1a:b", "scheme"),
            ("a b:c", "scheme"),
            ("file:///a b", "percent-encoded"),
            ("file:///a\0", "percent-encoded"),
            ("file:///%", "hexadecimal"),
            ("file:///%4", "hexadecimal"),
            ("file:///%é", "hexadecimal"),
        ] {
            assert!(problem(uri).is_some_and(|p| p.contains(why)), "{uri}: {:?}", problem(uri));
        }
        assert!(problem(&format!("x:{}", "a".repeat(LONGEST))).is_some());
    }

    #[test]
    fn prefix_covers_whole_segments_only() {
        for (prefix, uri) in [
            ("", "x:y"),
            ("db:", "db:///t"),
            ("file:///", "file:///a"),
            ("file:///a", "file:///a"),
            ("file:///a", "file:///a/b"),
            ("file:///a", "file:///a?x"),
        ] {
            assert!(covers(prefix, uri), "{prefix} {uri}");
        }
        for (prefix, uri) in
            [("file:///a", "file:///ab"), ("file:///a/", "file:///a"), ("db:", "d")]
        {
            assert!(!covers(prefix, uri), "{prefix} {uri}");
        }
    }
}

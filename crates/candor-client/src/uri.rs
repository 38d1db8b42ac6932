//! Compares URIs, whatever their spelling.

/// Returns true if two URIs are equal after normalization of case and percent-encoding (RFC 3986, 6.2.2). Servers and SDKs that
/// parse URIs may send them back in another spelling. A slash at the end of a path makes it another resource.
#[must_use]
pub fn is_same_uri(one: &str, other: &str) -> bool {
    one == other || normal(one) == normal(other)
}

/// Returns the spelling that all spellings of a URI have in common.
pub(crate) fn normal(uri: &str) -> String {
    let encoded = normal_encoding(uri);
    let Some((scheme, rest)) = encoded.split_once(':') else { return encoded };
    let scheme = scheme.to_ascii_lowercase();
    let Some(rest) = rest.strip_prefix("//") else { return format!("{scheme}:{rest}") };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // The user part is case-sensitive, the host is not.
    let (user, host) = authority.split_at(authority.rfind('@').unwrap_or_default());
    let root = if path.starts_with('/') { "" } else { "/" };
    format!("{scheme}://{user}{}{root}{path}", host.to_ascii_lowercase())
}

/// Decodes characters that need no encoding, and encodes those that do.
fn normal_encoding(uri: &str) -> String {
    let bytes = uri.as_bytes();
    let mut normal = String::with_capacity(uri.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = uri.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let decoded = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let byte = decoded.unwrap_or(bytes[at]);
        let plain = match decoded {
            Some(byte) => byte.is_ascii_alphanumeric() || b"-._~".contains(&byte),
            None => byte.is_ascii_graphic() && !br#""<>\^`{|}"#.contains(&byte),
        };
        match plain {
            true => normal.push(char::from(byte)),
            false => normal.push_str(&format!("%{byte:02X}")),
        }
        at += if decoded.is_some() { 3 } else { 1 };
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_uri_are_equal() {
        for (one, other) in [
            ("FILE:///a%2dé b", "file:///a-%C3%A9%20b"),
            ("x://Host", "x://hosT/"),
            ("x://U@H/p%2f", "X://U@h/p%2F"),
            ("x:a|b", "x:a%7cb"),
            ("no scheme", "no%20scheme"),
        ] {
            assert!(is_same_uri(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("x:///a", "x:///A"),
            ("x:///a", "x:///a/"),
            ("x:///a/b", "x:///a%2Fb"),
            ("x://u@h/", "x://U@h/"),
            ("x:///a%", "x:///a"),
            ("x:///a%25", "x:///a"),
            ("", "x:"),
        ] {
            assert!(!is_same_uri(one, other), "{one} {other}");
        }
    }
}

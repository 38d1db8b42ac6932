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
    let mut normal = String::with_capacity(uri.len());
    let mut rest = uri.as_bytes();
    loop {
        let plain = rest.iter().position(|byte| !PLAIN[usize::from(*byte)]);
        let (run, after) = rest.split_at(plain.unwrap_or(rest.len()));
        normal.extend(str::from_utf8(run));
        let Some(&first) = after.first() else { return normal };
        let decoded = match after {
            [b'%', high, low, ..] => hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        match decoded {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                normal.push(char::from(byte));
            }
            None if first == b'%' => normal.push('%'),
            byte => normal.push_str(&format!("%{:02X}", byte.unwrap_or(first))),
        }
        rest = &after[if decoded.is_some() { 3 } else { 1 }..];
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Which bytes need no encoding. A table, because servers may send megabytes of them.
const PLAIN: [bool; 256] = {
    let (mut plain, mut byte) = ([false; 256], 0u8);
    while byte < 128 {
        plain[byte as usize] = byte.is_ascii_graphic()
            && !matches!(
                byte,
                b'%' | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}'
            );
        byte += 1;
    }
    plain
};

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

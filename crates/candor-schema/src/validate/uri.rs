//! Resolves references against the URI of the schema that holds them (RFC 3986, section 5.2).

/// The parts of a URI reference. A missing part differs from an empty one.
struct Parts<'u> {
    scheme: Option<&'u str>,
    authority: Option<&'u str>,
    path: &'u str,
    query: Option<&'u str>,
}

/// Returns the absolute URI of a reference, without its fragment, and the fragment.
pub(super) fn resolve<'r>(base: &str, reference: &'r str) -> (String, Option<&'r str>) {
    let (reference, fragment) = match reference.split_once('#') {
        Some((before, fragment)) => (before, Some(fragment)),
        None => (reference, None),
    };
    if reference.is_empty() {
        return (base.to_owned(), fragment);
    }
    let (base, other) = (parts(base), parts(reference));
    let absolute = if other.scheme.is_some() {
        written(other.scheme, other.authority, &without_dots(other.path), other.query)
    } else if other.authority.is_some() {
        written(base.scheme, other.authority, &without_dots(other.path), other.query)
    } else if other.path.is_empty() {
        written(base.scheme, base.authority, base.path, other.query.or(base.query))
    } else if other.path.starts_with('/') {
        written(base.scheme, base.authority, &without_dots(other.path), other.query)
    } else {
        let folder = match base.path.rfind('/') {
            Some(end) => &base.path[..=end],
            None if base.authority.is_some() => "/",
            None => "",
        };
        let path = without_dots(&format!("{folder}{}", other.path));
        written(base.scheme, base.authority, &path, other.query)
    };
    (absolute, fragment)
}

fn parts(uri: &str) -> Parts<'_> {
    let (scheme, rest) = match uri.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
        _ => (None, uri),
    };
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (rest, None),
    };
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => {
            let end = rest.find('/').unwrap_or(rest.len());
            (Some(&rest[..end]), &rest[end..])
        }
        None => (None, rest),
    };
    Parts { scheme, authority, path, query }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// Removes `.` and `..` from a path.
fn without_dots(path: &str) -> String {
    if !path.contains("./") && !path.ends_with('.') {
        return path.to_owned();
    }
    let mut kept: Vec<&str> = Vec::new();
    let rooted = path.strip_prefix('/');
    let mut segments = rooted.unwrap_or(path).split('/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                // A path that ends in dots means a folder.
                if last {
                    kept.push("");
                }
            }
            other => kept.push(other),
        }
    }
    let root = if rooted.is_some() { "/" } else { "" };
    format!("{root}{}", kept.join("/"))
}

fn written(
    scheme: Option<&str>,
    authority: Option<&str>,
    path: &str,
    query: Option<&str>,
) -> String {
    let mut uri = String::new();
    if let Some(scheme) = scheme {
        uri.push_str(scheme);
        uri.push(':');
    }
    if let Some(authority) = authority {
        uri.push_str("//");
        uri.push_str(authority);
    }
    uri.push_str(path);
    if let Some(query) = query {
        uri.push('?');
        uri.push_str(query);
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn uri_references_resolve_as_in_the_rfc() {
        let base = "http://a/b/c/d;p?q";
        for (reference, meant) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("g/./h", "http://a/b/c/g/h"),
            ("g/../h", "http://a/b/c/h"),
        ] {
            assert_eq!(resolve(base, reference).0, meant, "{reference}");
        }
        assert_eq!(resolve("urn:x:y", "#z"), ("urn:x:y".to_owned(), Some("z")));
    }
}

//! URI templates: which URIs match, and the values of the variables.

use std::collections::BTreeMap;
use std::fmt;

use percent_encoding::percent_decode_str;

/// The values of a URI's variables, decoded.
pub type Variables = BTreeMap<String, String>;

/// A URI template of RFC 6570, limited to unambiguous forms: `{name}` matches one path segment, `{+name}` any number of them.
#[derive(Debug, Clone)]
pub(crate) struct Template(Vec<TemplatePart>);

#[derive(Debug, Clone)]
enum TemplatePart {
    Literal(String),
    Segment(String),
    Rest(String),
}

/// A template that is not supported. Its debug form is its message, for a `main` that returns it.
#[derive(Clone, PartialEq, Eq)]
pub struct TemplateError(String);

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "URI template {:?}: only {{name}} and {{+name}} are supported, with text between them",
            self.0
        )
    }
}

impl fmt::Debug for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for TemplateError {}

impl Template {
    pub(crate) fn parse(text: &str) -> Result<Self, TemplateError> {
        let refuse = || TemplateError(text.to_owned());
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or_else(refuse)?;
            let adjoins = literal.is_empty() && !parts.is_empty();
            if adjoins || literal.contains('}') {
                return Err(refuse());
            }
            if !literal.is_empty() {
                parts.push(TemplatePart::Literal(literal.to_owned()));
            }
            let plain = name.strip_prefix('+').unwrap_or(name);
            if plain.is_empty()
                || !plain.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'))
            {
                return Err(refuse());
            }
            let plain_name = plain.to_owned();
            parts.push(if plain.len() < name.len() {
                TemplatePart::Rest(plain_name)
            } else {
                TemplatePart::Segment(plain_name)
            });
            rest = after;
        }
        if rest.contains('}') {
            return Err(refuse());
        }
        if !rest.is_empty() {
            parts.push(TemplatePart::Literal(rest.to_owned()));
        }
        Ok(Self(parts))
    }

    /// Returns the variables, if the URI matches. A variable is never empty.
    pub(crate) fn matches(&self, uri: &str) -> Option<Variables> {
        let mut variables = Variables::new();
        let mut rest = uri;
        let mut parts = self.0.iter().peekable();
        while let Some(part) = parts.next() {
            let (name, crosses) = match part {
                TemplatePart::Literal(text) => {
                    rest = rest.strip_prefix(text.as_str())?;
                    continue;
                }
                TemplatePart::Segment(name) => (name, false),
                TemplatePart::Rest(name) => (name, true),
            };
            let end = match parts.peek() {
                Some(TemplatePart::Literal(next)) => rest.find(next.as_str())?,
                _ => rest.len(),
            };
            let value = &rest[..end];
            if value.is_empty() || (!crosses && value.contains(['/', '?', '#'])) {
                return None;
            }
            variables
                .insert(name.clone(), percent_decode_str(value).decode_utf8().ok()?.into_owned());
            rest = &rest[end..];
        }
        rest.is_empty().then_some(variables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
        Template::parse(template).unwrap().matches(uri).map(|v| v.into_iter().collect())
    }

    #[test]
    fn variables_are_decoded_and_stay_in_their_segment() {
        assert_eq!(
            matched("test://t/{id}/data", "test://t/a%20b/data"),
            Some(vec![("id".into(), "a b".into())])
        );
        assert_eq!(matched("test://t/{id}/data", "test://t/a/b/data"), None);
        assert_eq!(matched("test://t/{id}/data", "test://t//data"), None);
        assert_eq!(matched("test://t/{id}/data", "test://t/1/data/more"), None);
        assert_eq!(
            matched("file:///{+path}", "file:///a/b"),
            Some(vec![("path".into(), "a/b".into())])
        );
        assert_eq!(matched("x:{a}", "x:%ff"), None);
    }

    #[test]
    fn ambiguous_or_malformed_templates_are_refused() {
        for text in
            ["x:{a}{b}", "x:{a", "x:a}", "x:a}{b}", "x:{a}}{b}", "x:{}", "x:{?q}", "x:{a,b}"]
        {
            assert!(Template::parse(text).is_err(), "{text}");
        }
    }
}

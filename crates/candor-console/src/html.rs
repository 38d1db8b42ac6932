//! HTML that escapes by default.
//!
//! [`html!`] is `format!` with escaped values, except values that are HTML already. Placeholders are positional: a name in the
//! braces would be inserted unescaped, so the macro makes the compiler refuse it.

use std::fmt::{self, Write as _};

use candor_operator::shown::fools;

/// HTML: literal templates and escaped values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Html(String);

impl Html {
    /// Returns empty HTML.
    pub(crate) const fn new() -> Self {
        Self(String::new())
    }

    /// Wraps the output of [`html!`]. Only the macro may call it.
    pub(crate) const fn written(text: String) -> Self {
        Self(text)
    }

    pub(crate) fn push(&mut self, more: &Self) {
        self.0.push_str(&more.0);
    }

    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

impl FromIterator<Html> for Html {
    fn from_iter<I: IntoIterator<Item = Html>>(parts: I) -> Self {
        let mut all = Self::new();
        parts.into_iter().for_each(|part| all.push(&part));
        all
    }
}

/// A value that a template can contain.
pub(crate) trait Place: Sync {
    /// Writes the value, escaped for text and for attributes in double quotes.
    fn place(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// A value that displays as escaped HTML.
pub(crate) struct PlacedValue<'a>(pub(crate) &'a dyn Place);

impl fmt::Display for PlacedValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.place(f)
    }
}

impl Place for Html {
    fn place(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Place for str {
    fn place(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.chars() {
            match c {
                '&' => out.write_str("&amp;")?,
                '<' => out.write_str("&lt;")?,
                '>' => out.write_str("&gt;")?,
                '"' => out.write_str("&quot;")?,
                '\'' => out.write_str("&#39;")?,
                // HTML parsers replace it.
                '\0' => out.write_char('\u{fffd}')?,
                _ => out.write_char(c)?,
            }
        }
        Ok(())
    }
}

impl Place for String {
    fn place(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().place(out)
    }
}

impl<T: Place + ?Sized> Place for &T {
    fn place(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).place(out)
    }
}

impl<T: Place> Place for Option<T> {
    /// Writes nothing if there is no value.
    fn place(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().map_or(Ok(()), |value| value.place(out))
    }
}

impl Place for std::borrow::Cow<'_, str> {
    fn place(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).place(out)
    }
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Place for $type {
            fn place(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, out)
            }
        }
    )*};
}
numbers!(u16 u32 u64 usize i64);

/// Writes HTML: `html!("<p>{}</p>", text)`.
macro_rules! html {
    ($template:literal $(, $value:expr)* $(,)?) => {
        // `concat!` makes the template a macro's output, which cannot capture variables. They would not be escaped.
        $crate::html::Html::written(format!(concat!($template, "") $(, $crate::html::PlacedValue(&$value))*))
    };
}
pub(crate) use html;

/// Returns untrusted text. Characters that are invisible or change the direction of the text become escapes.
pub(crate) fn shown(text: &str) -> Html {
    let mut html = Html::new();
    let mut plain = String::new();
    for c in text.chars() {
        if deceives(c) {
            html.push(&html!("{}", plain));
            plain.clear();
            let code = format!("U+{:04X}", u32::from(c));
            html.push(&html!(
                "<span class=\"odd\" title=\"a character that cannot be seen\">{}</span>",
                code
            ));
        } else {
            plain.push(c);
        }
    }
    html.push(&html!("{}", plain));
    html
}

/// Returns true if a character could mislead the reader of a page. Line breaks and tabs are harmless there.
pub(crate) fn deceives(c: char) -> bool {
    !matches!(c, '\n' | '\t') && fools(c)
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn invisible_characters_are_shown_as_code_points() {
        let shown = shown("a\u{202e}gpj.exe<b>").into_string();
        assert!(shown.contains(">U+202E</span>gpj.exe&lt;b&gt;"), "{shown}");
    }

    #[test]
    fn html_macro_escapes_values_but_not_html() {
        let hostile = r#"<img src=x onerror="alert('1')">&"#;
        let part = html!("<b title=\"{}\">{}</b>", hostile, 7_u64);
        let escaped = "&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;";
        let whole = html!("<p>{}{}</p>", part, None::<String>);
        assert_eq!(whole.into_string(), format!("<p><b title=\"{escaped}\">7</b></p>"));
    }
}

//! Strings: their length, pattern and format.

use serde_json::Value;

use super::failure::{Faults, Spot};
use super::formats::Format;
use super::patterns::{Pattern, Patterns};
use super::run::Run;
use super::shape::{Problem, Shape};

/// What a schema requires of strings.
#[derive(Default)]
pub(super) struct Strings {
    min_length: Option<u64>,
    max_length: Option<u64>,
    pattern: Option<Pattern>,
    format: Option<Format>,
}

impl Strings {
    /// Compiles the keywords for strings. Returns `None` if they require nothing.
    pub(super) fn compile(
        shape: &Shape<'_>,
        patterns: &mut Patterns,
    ) -> Result<Option<Self>, Problem> {
        let mut strings = Self {
            min_length: shape.count("minLength")?.filter(|limit| *limit > 0),
            max_length: shape.count("maxLength")?,
            ..Self::default()
        };
        if let Some(pattern) = shape.text("pattern")? {
            let compiled = patterns.compile(pattern);
            strings.pattern =
                Some(compiled.map_err(|e| Problem::Unusable(format!("/pattern: {e}")))?);
        }
        strings.format =
            shape.text("format")?.and_then(|format| Format::named(format, shape.draft));
        Ok((!strings.says_nothing()).then_some(strings))
    }

    fn says_nothing(&self) -> bool {
        self.min_length.is_none()
            && self.max_length.is_none()
            && self.pattern.is_none()
            && self.format.is_none()
    }

    pub(super) fn fit(&self, text: &str, run: &mut Run) -> bool {
        self.long_enough(text, run)
            && self.short_enough(text, run)
            && self.pattern.as_ref().is_none_or(|pattern| pattern.matches(text, run))
            && self.format.is_none_or(|format| format.fits(text, run))
    }

    fn long_enough(&self, text: &str, run: &mut Run) -> bool {
        self.min_length.is_none_or(|limit| length(text, limit, run) >= limit)
    }

    fn short_enough(&self, text: &str, run: &mut Run) -> bool {
        self.max_length.is_none_or(|limit| length(text, limit.saturating_add(1), run) <= limit)
    }

    pub(super) fn faults<'v>(&self, spot: &Spot<'_, 'v>, run: &mut Run, out: &mut Faults<'v>) {
        let Value::String(text) = spot.value else { return };
        if !self.long_enough(text, run) {
            out.plain(spot, "minLength");
        }
        if !self.short_enough(text, run) {
            out.plain(spot, "maxLength");
        }
        if self.pattern.as_ref().is_some_and(|pattern| !pattern.matches(text, run)) {
            out.plain(spot, "pattern");
        }
        if self.format.is_some_and(|format| !format.fits(text, run)) {
            out.plain(spot, "format");
        }
    }
}

/// Returns the length in code points, exact only if a comparison with `enough` needs it.
fn length(text: &str, enough: u64, run: &mut Run) -> u64 {
    let bytes = text.len() as u64;
    // A code point has one to four bytes, which mostly decides the comparison.
    if bytes < enough {
        return bytes;
    }
    if bytes / 4 >= enough {
        return enough;
    }
    run.charge(text.len() / 64);
    text.chars().count() as u64
}

//! Patterns. They run in linear time or for a limited number of steps, and their memory is bounded.

use std::collections::HashMap;
use std::sync::Arc;

use regex_automata::meta::Regex;
use regex_automata::util::syntax;

use super::backtrack::{self, Program};
use super::run::Run;
use super::translate::{Untranslatable, translate};

/// Maximum size of one compiled pattern, in bytes.
const LARGEST: usize = 10 << 20;

/// Maximum size of all compiled patterns of a schema, in bytes.
const LARGEST_TOGETHER: usize = 32 << 20;

/// Size of the engine's cache for each thread that uses it, in bytes.
const REMEMBERED: usize = 1 << 18;

/// A compiled pattern.
#[derive(Clone)]
pub(super) enum Pattern {
    Linear {
        engine: Regex,
        /// Steps for each four bytes of text.
        weight: usize,
    },
    /// With look-around or back-references.
    Backtracking(Arc<Program>),
}

impl Pattern {
    pub(super) fn matches(&self, text: &str, run: &mut Run) -> bool {
        match self {
            Self::Linear { engine, weight } => {
                run.charge(text.len() / 4 * weight);
                !run.is_spent() && engine.is_match(text)
            }
            Self::Backtracking(program) => program.matches(text, run),
        }
    }
}

/// The patterns of one schema; the same text is compiled once.
#[derive(Default)]
pub(super) struct Patterns {
    compiled: HashMap<String, Pattern>,
    size: usize,
}

impl Patterns {
    /// Compiles a pattern, or says what is wrong with it.
    pub(super) fn compile(&mut self, pattern: &str) -> Result<Pattern, String> {
        if let Some(compiled) = self.compiled.get(pattern) {
            return Ok(compiled.clone());
        }
        let room = LARGEST_TOGETHER.saturating_sub(self.size).min(LARGEST);
        let (compiled, size) = match translate(pattern) {
            Ok(translated) => linear(&translated, room),
            Err(Untranslatable::Backtracks) => backtracking(pattern, room),
            Err(Untranslatable::Wrong(why)) => Err(why),
        }
        .map_err(|why| {
            let pattern = crate::violation::shorten(pattern);
            format!("the pattern {pattern:?} cannot be used: {why}")
        })?;
        self.size += size;
        self.compiled.insert(pattern.to_owned(), compiled.clone());
        Ok(compiled)
    }
}

fn linear(translated: &str, room: usize) -> Result<(Pattern, usize), String> {
    let config = Regex::config()
        .nfa_size_limit(Some(room))
        .hybrid_cache_capacity(REMEMBERED)
        .utf8_empty(false);
    let built = Regex::builder().configure(config).syntax(grammar()).build(translated);
    let engine = built.map_err(|error| {
        if error.size_limit().is_some() {
            return "it takes too much memory; a count in it may be too high".to_owned();
        }
        // The whole message shows the translated pattern on several lines; the last line has the reason.
        let text = error.syntax_error().map_or(error.to_string(), ToString::to_string);
        text.rsplit("error: ").next().unwrap_or_default().to_owned()
    })?;
    let size = engine.memory_usage();
    // A state of the engine takes some thirty bytes; few of them are tried at each character.
    Ok((Pattern::Linear { engine, weight: 1 + size / (32 * 128) }, size))
}

fn backtracking(pattern: &str, room: usize) -> Result<(Pattern, usize), String> {
    let program = Program::compile(pattern, room)?;
    let size = program.size();
    Ok((Pattern::Backtracking(Arc::new(program)), size))
}

/// Returns true if a text is a regular expression of ECMAScript.
pub(super) fn is_pattern(text: &str) -> bool {
    match translate(text) {
        Ok(translated) => syntax::parse_with(&translated, &grammar()).is_ok(),
        Err(Untranslatable::Backtracks) => backtrack::is_pattern(text, LARGEST),
        Err(Untranslatable::Wrong(_)) => false,
    }
}

pub(super) fn grammar() -> syntax::Config {
    // Words are ASCII, so a word can end inside a character of several bytes.
    syntax::Config::new().utf8(false).nest_limit(128)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn matches(pattern: &str, text: &str) -> bool {
        Patterns::default().compile(pattern).unwrap().matches(text, &mut Run::new())
    }

    #[test]
    fn patterns_are_translated_as_ecmascript() {
        for (pattern, yes, no) in [
            (r"^\d+$", "42", "٤٢"),
            (r"^\w$", "_", "é"),
            (r"^\s$", "\u{feff}", "\u{85}"),
            (r"^\S$", "\u{85}", "\u{a0}"),
            (r"^.$", "\u{85}", "\u{2028}"),
            (r"^\cJ$", "\n", "J"),
            (r"^\u00e9\x41\u{1F432}\uD83D\uDC32$", "éA🐲🐲", "eA🐲🐲"),
            (r"^[\u{1F432}-\u{1F434}]$", "🐳", "🐲🐳"),
            (r"^\/\-\_\@$", "/-_@", "\\/-_@"),
            (r"^[^]$", "\n", ""),
            (r"a[]?b", "ab", "a]b"),
            (r"^[[&&~~\]-]$", "[", "a"),
            (r"^[\w-z]$", "-", "é"),
            (r"^[a-]$", "-", "b"),
            (r"^{a}$", "{a}", "a"),
            (r"^a{2}b{1,}c{,2}$", "aabc{,2}", "aabcc"),
            (r"^(?<year>\d{4})-(?:x|y)$", "1999-x", "1999-z"),
            (r"^\p{L}+$", "Ωé", "1"),
            (r"^\p{Script=Greek}$", "Ω", "O"),
            (r"^[\b]$", "\u{8}", "b"),
            (r"\bfoo\b", "a foo é", "afoo"),
            (r"^\0$", "\0", "0"),
            (r"(?i)^straße$", "STRAßE", "strase"),
        ] {
            assert!(matches(pattern, yes), "{pattern} {yes:?}");
            assert!(!matches(pattern, no), "{pattern} {no:?}");
        }
    }

    #[test]
    fn dot_follows_the_flag_s_alike_in_both_engines() {
        for (pattern, is_match) in [
            ("(?s:a).$", false),
            ("(?s:a.)$", true),
            ("(?-s)a.$", false),
            ("(?s)a.$", true),
            ("(?s)(?:a).$", true),
            ("(?s)a(?-s:.)$", false),
            ("(?s)(?-s:a).$", true),
            ("(?:(?s)a).$", false),
            ("(?:(?s)b|a.)$", true),
            ("(?i-s)A.$", false),
        ] {
            let (backtracking, _) = backtracking(pattern, LARGEST).unwrap();
            for end in ["\n", "\r", "\u{2028}", "\u{2029}"] {
                let text = format!("a{end}");
                assert_eq!(matches(pattern, &text), is_match, "{pattern} {end:?}");
                assert_eq!(backtracking.matches(&text, &mut Run::new()), is_match, "{pattern}");
            }
        }
    }

    #[test]
    fn invalid_pattern_is_refused_with_the_reason() {
        for (pattern, why) in [
            (r"(a)\2", "group 2"),
            (r"a(?=b", "never closed"),
            (r"^\S(|(.|\n)*\S)\Z", "`\\Z`"),
            (r"\a", "`\\a`"),
            (r"[a", "never closed"),
            (r"[b-a]", "backwards"),
            (r"\uD800", "surrogate"),
            (r"\p{Nope}", "property"),
            (r"\p{L", "never closed"),
            (r"[\P{L", "never closed"),
            (r"\u{41", "in braces"),
            (r"\u{+41}", "in braces"),
            (r"(?=a)\p{L", "never closed"),
            (r"(?<name>a)\k<name", "never closed"),
            (r"(?<name", "never closed"),
            (r"((((x{1000}){1000}){1000}){1000})", "too much memory"),
            ("(", "unclosed"),
            ("\\", "backslash"),
        ] {
            let error = Patterns::default().compile(pattern).err().unwrap();
            assert!(error.to_lowercase().contains(&why.to_lowercase()), "{pattern}: {error}");
        }
        assert!(Patterns::default().compile(&"(".repeat(100_000)).is_err());
    }

    #[test]
    fn memory_of_all_patterns_is_limited() {
        let mut patterns = Patterns::default();
        let refused =
            (0..1000).find(|i| patterns.compile(&format!(r"^\p{{L}}{{{}}}$", 300 + i)).is_err());
        assert!(refused.is_some());
    }

    #[test]
    fn pattern_of_either_engine_is_valid() {
        assert!(is_pattern(r"^(?=a)(\w)\1$"));
        assert!(is_pattern("a(b)?"));
        assert!(!is_pattern("^(abc]"));
        assert!(!is_pattern(r"(?=a)(\w)\2$"));
        assert!(!is_pattern(r"\Z"));
    }
}

//! A backtracking engine with a limit, for patterns with look-around and back-references, which no linear engine runs.
//!
//! | file | what it holds |
//! |---|---|
//! | `tree` | parses a pattern into a tree |
//! | `code` | compiles a tree into instructions |
//! | `machine` | runs instructions on a text |
//!
//! Each instruction takes a step from the budget of the check ([`Run`]). So a hostile pattern ends as any other costly check
//! does: the value is refused, with an error that says so. The limits of existing engines count something else: a thousand
//! backtracks, each of which reads a long text, take seconds. Those engines also differ from ECMAScript if a back-reference
//! names a group that has not matched.

mod code;
mod machine;
mod tree;

use super::run::Run;
use code::Instruction;
use tree::Set;

/// A compiled pattern.
pub(super) struct Program {
    code: Vec<Instruction>,
    sets: Vec<Set>,
    /// How many positions the machine stores.
    slots: usize,
    /// It matches only at the beginning.
    anchored: bool,
}

impl Program {
    /// Compiles a pattern into at most `room` bytes, or says what is wrong with it.
    pub(super) fn compile(pattern: &str, room: usize) -> Result<Self, String> {
        code::compile(tree::parse(pattern, room)?, room)
    }

    /// Returns about how many bytes it takes in memory.
    pub(super) fn size(&self) -> usize {
        tree::bytes_of(&self.sets) + size_of_val(&*self.code)
    }

    /// Returns true if the text has a match. If the budget ends first, the answer is worthless.
    pub(super) fn matches(&self, text: &str, run: &mut Run) -> bool {
        machine::matches(self, text, run)
    }
}

/// Returns true if a text is a pattern.
pub(super) fn is_pattern(text: &str, room: usize) -> bool {
    tree::parse(text, room).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ROOM: usize = 1 << 20;

    #[track_caller]
    fn matches(pattern: &str, text: &str) -> bool {
        let program = Program::compile(pattern, ROOM).unwrap_or_else(|e| panic!("{pattern}: {e}"));
        let mut run = Run::new();
        let matches = program.matches(text, &mut run);
        assert!(!run.is_spent(), "{pattern} {text:?}");
        matches
    }

    #[test]
    fn patterns_match_as_in_ecmascript() {
        for (pattern, yes, no) in [
            (r"^(?=.*[A-Z])(?=.*\d).{4,}$", "abcD1", "abcde1"),
            (r"^(?!admin$)\w+$", "admins", "admin"),
            (r"(?<=€)\d+", "€5", "$5"),
            (r"(?<!-)\b\d+\b", "a 5", "-5"),
            (r"(?<=^|, ?)b", "a,b", "a;b"),
            (r"^(a+)b\1$", "aabaa", "aabaaa"),
            (r"^(?<q>['\u0022]).*\k<q>$", "'x'", "'x\""),
            // A group that has not matched is empty, and so is one that is not closed yet.
            (r"^(a)?b\1$", "b", "ba"),
            (r"^\1(a)$", "a", "aa"),
            (r"^(a\1)$", "a", "aa"),
            // Each round clears what the groups in it matched.
            (r"^(?:(a)|b)*\1$", "ab", "aba"),
            (r"^(?:(a)|(b))*=\2$", "ab=b", "ab=a"),
            // Backwards, a later group is matched before an earlier one.
            (r"(?<=\1(a))b", "aab", "ab"),
            (r"(?<=([ab]+)([bc]+))$", "abc", "a"),
            // A look-around is not entered again: `\1` stays `aaa`.
            (r"^(?=(a+))a*b\1$", "aaabaaa", "aaaba"),
            (r"^(?:a?)*?(?=b)b$", "aab", "aa"),
            (r"^(?:(?=a)|a)+$", "aaa", "ab"),
            (r"(?i)^(é)x(?=\1)", "éXÉ", "éxe"),
            (r"(?i:A)(?=b)", "ab", "aB"),
            (r"(?m)^b$(?!c)", "a\nb\n", "ab"),
            (r"(?s)^a.b(?!c)", "a\nb", "a\nbc"),
            (r"^a.b(?!c)", "a\u{85}b", "a\nb"),
            (r"^\p{Lu}(?=\u{1F432})", "Ω🐲", "ω🐲"),
            (r"^(?=[^\d]{2,3}$)", "éé", "é1"),
            (r"^(?=a{2}b{1,}c{,2})", "aabc{,2}", "abc{,2}"),
            (r"(?!)|x", "x", "y"),
            (r"^(?:)*(?=a)", "a", "b"),
        ] {
            assert!(matches(pattern, yes), "{pattern} {yes:?}");
            assert!(!matches(pattern, no), "{pattern} {no:?}");
        }
    }

    #[test]
    fn invalid_pattern_is_refused_with_the_reason() {
        for (pattern, why) in [
            (r"(?=a", "never closed"),
            (r"(?=a))", "never opened"),
            (r"(?=a)**", "nothing to repeat"),
            (r"+(?=a)", "nothing to repeat"),
            (r"(?=a)b{3,2}", "backwards"),
            (r"\2(a)", "group 2"),
            (r"\k<n>(a)", "group `n`"),
            (r"(?<n>a)(?<n>b)(?=c)", "two groups"),
            (r"(?=a)(?x:b)", "flag"),
            (r"(?=a)\Z", "`\\Z`"),
            (r"(?=\p{Nope})", "property"),
            (r"(?=a)(((x{1000}){1000}){1000})", "too much memory"),
            (r"(?=a)(?:x?){4000000000}", "too much memory"),
        ] {
            let error = Program::compile(pattern, ROOM).err().unwrap();
            assert!(error.contains(why), "{pattern}: {error}");
        }
        assert!(Program::compile(&"(?=".repeat(100_000), ROOM).is_err());
        assert!(Program::compile(&"(?:(?:){4000000000}){4000000000}(?=a)".repeat(9), ROOM).is_ok());
        let sets: String = (0..1000).map(|i| format!(r"(?=[\p{{L}}\u{{{i:x}}}])")).collect();
        assert!(Program::compile(&sets, ROOM).err().unwrap().contains("too much memory"));
    }

    #[test]
    fn hostile_pattern_ends_at_the_step_limit() {
        for (pattern, text) in [
            (r"^(?=(a+)+$)", "a".repeat(100) + "b"),
            (r"^(\w+\s?)*\1$", "a".repeat(100) + "!"),
            (r"(?=.*x)\w", "a".repeat(100_000)),
            (r"(?<=^b(?:a|aa)+)c", "a".repeat(100) + "c"),
            (r"^(?:(a|b)+(?!x))+$", "ab".repeat(1000) + "c"),
        ] {
            let mut run = Run::of(500_000);
            let program = Program::compile(pattern, ROOM).unwrap();
            program.matches(&text, &mut run);
            assert!(run.is_spent(), "{pattern}");
        }
        let long = "a".repeat(1_000_000);
        assert!(matches(r"^(?!.*secret)[^]*$", &long));
    }

    proptest! {
        /// Without look-around and back-references, both engines must agree.
        #[test]
        fn both_pattern_engines_agree(
            pattern in r"(\(\?:)?[ab]{1,2}[*+?]{0,1}(\||\[ab\]|\.|\^|\$|\\b|a\{1,2\}|b\{0,2\}\?){0,4}(\)[*+])?",
            text in "[ab \n]{0,6}",
        ) {
            let Ok(linear) = super::super::patterns::Patterns::default().compile(&pattern) else {
                return Ok(());
            };
            let ours = Program::compile(&pattern, ROOM);
            prop_assert!(ours.is_ok(), "{:?}", ours.err());
            let mut run = Run::new();
            let expected = linear.matches(&text, &mut run);
            prop_assert_eq!(ours.unwrap().matches(&text, &mut run), expected);
        }
    }
}

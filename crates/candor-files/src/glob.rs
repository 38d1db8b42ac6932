//! Patterns for names. Matching follows all ways through a pattern at once, one character after the other. So the time is at most
//! the length of the pattern times the length of the path, whatever the pattern.

use std::fmt;

/// Maximum length of a pattern, number of its alternatives, and length with all alternatives written out.
const MOST_BYTES: usize = 1024;
const MOST_ALTERNATIVES: usize = 64;
const MOST_WRITTEN: usize = 4096;

/// A pattern: `*` is anything in a name, `?` one character, `[a-z]` and `[!a-z]` one of these or none of these, `**` any number of
/// folders, `{a,b}` one or the other. A pattern with `/` matches the path from the start of the search, any other one the last
/// name. A dot at the beginning is not special: the root decides whether such names are seen.
///
/// ```
/// use candor_files::Glob;
///
/// let glob = Glob::parse("src/**/*.{rs,toml}")?;
/// assert!(glob.matches(b"src/a/b.rs", false));
/// assert!(!glob.matches(b"tests/b.rs", false));
/// # Ok::<(), candor_files::GlobError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Glob {
    alternatives: Vec<Vec<Token>>,
    whole_path: bool,
}

#[derive(Clone, Debug)]
enum Token {
    One(Unit),
    Any,
    Set {
        none_of: bool,
        ranges: Vec<(Unit, Unit)>,
    },
    /// `*`
    Name,
    /// `**/`: nothing, or folders.
    Folders,
    /// `**` at the end: everything.
    Rest,
}

/// A character, or, above all of them, a byte that is part of none.
type Unit = u32;
const SLASH: Unit = '/' as Unit;

fn units(bytes: &[u8]) -> impl Iterator<Item = Unit> {
    bytes.utf8_chunks().flat_map(|chunk| {
        let invalid = chunk.invalid().iter().map(|b| 0x11_0000 + Unit::from(*b));
        chunk.valid().chars().map(Unit::from).chain(invalid)
    })
}

/// Folds one character to one character. Names are only compared, so `ß` may stay itself.
fn fold(unit: Unit) -> Unit {
    char::from_u32(unit).and_then(|c| c.to_lowercase().next()).map_or(unit, Unit::from)
}

impl Glob {
    /// Parses a pattern.
    pub fn parse(pattern: &str) -> Result<Self, GlobError> {
        if pattern.len() > MOST_BYTES {
            return Err(GlobError::TooLong);
        }
        if pattern.is_empty() {
            return Err(GlobError::Empty);
        }
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let chars: Vec<char> = pattern.chars().collect();
        let alternatives = expand(&chars)?.iter().map(|p| tokens(p)).collect::<Result<_, _>>()?;
        Ok(Self { alternatives, whole_path: pattern.contains('/') })
    }

    /// Returns true if the pattern matches this path, with `/` between its names.
    #[must_use]
    pub fn matches(&self, path: &[u8], ignore_case: bool) -> bool {
        let path = if self.whole_path {
            path
        } else {
            path.rsplit(|b| *b == b'/').next().unwrap_or_default()
        };
        let fold = if ignore_case { fold } else { |unit| unit };
        self.alternatives.iter().any(|tokens| run(tokens, path, fold))
    }
}

fn run(tokens: &[Token], path: &[u8], fold: fn(Unit) -> Unit) -> bool {
    // A mark at `i` means that everything before the token `i` has matched.
    let mut marks = vec![false; tokens.len() + 1];
    let mut next = marks.clone();
    mark(tokens, &mut marks, 0);
    for unit in units(path).map(fold) {
        next.fill(false);
        for (i, token) in tokens.iter().enumerate().filter(|(i, _)| marks[*i]) {
            match token {
                Token::One(one) if fold(*one) == unit => mark(tokens, &mut next, i + 1),
                Token::Any if unit != SLASH => mark(tokens, &mut next, i + 1),
                Token::Set { none_of, ranges } if unit != SLASH => {
                    let within = |(low, high): &(Unit, Unit)| {
                        (*low..=*high).contains(&unit) || (fold(*low)..=fold(*high)).contains(&unit)
                    };
                    if ranges.iter().any(within) != *none_of {
                        mark(tokens, &mut next, i + 1);
                    }
                }
                Token::Name if unit != SLASH => mark(tokens, &mut next, i),
                Token::Rest => mark(tokens, &mut next, i),
                Token::Folders => {
                    next[i] = true;
                    if unit == SLASH {
                        mark(tokens, &mut next, i + 1);
                    }
                }
                _ => {}
            }
        }
        std::mem::swap(&mut marks, &mut next);
    }
    marks[tokens.len()]
}

/// Sets a mark, and those that follow without matching anything. `Folders` can be skipped only on arrival. Later, only a `/` ends
/// it.
fn mark(tokens: &[Token], marks: &mut [bool], mut i: usize) {
    while !marks[i] {
        marks[i] = true;
        if !matches!(tokens.get(i), Some(Token::Name | Token::Rest | Token::Folders)) {
            return;
        }
        i += 1;
    }
}

fn tokens(pattern: &[char]) -> Result<Vec<Token>, GlobError> {
    let mut tokens = Vec::new();
    let mut rest = pattern;
    while let Some((c, after)) = rest.split_first() {
        let at_beginning = tokens.is_empty() || matches!(tokens.last(), Some(Token::One(SLASH)));
        rest = after;
        tokens.push(match (c, after) {
            ('*', ['*', '/', after @ ..]) if at_beginning || ends_folders(&tokens) => {
                rest = after;
                Token::Folders
            }
            ('*', ['*']) if at_beginning || ends_folders(&tokens) => {
                rest = &[];
                Token::Rest
            }
            ('*', ['*', ..]) => continue,
            ('*', _) => Token::Name,
            ('?', _) => Token::Any,
            ('[', _) => {
                let (set, after) = set(after)?;
                rest = after;
                set
            }
            (c, _) => Token::One(Unit::from(*c)),
        });
    }
    Ok(tokens)
}

fn ends_folders(tokens: &[Token]) -> bool {
    matches!(tokens.last(), Some(Token::Folders))
}

/// Returns the set after a `[`, and what follows its `]`.
fn set(pattern: &[char]) -> Result<(Token, &[char]), GlobError> {
    let (none_of, pattern) = match pattern {
        ['!' | '^', rest @ ..] => (true, rest),
        _ => (false, pattern),
    };
    // A `]` that comes first is one of the characters.
    let end = pattern.iter().skip(1).position(|c| *c == ']').ok_or(GlobError::OpenSet)? + 1;
    let mut ranges = Vec::new();
    let mut inside = &pattern[..end];
    while let [low, rest @ ..] = inside {
        let (high, rest) = match rest {
            ['-', high, rest @ ..] => (high, rest),
            _ => (low, rest),
        };
        if low > high {
            return Err(GlobError::Backwards);
        }
        ranges.push((Unit::from(*low), Unit::from(*high)));
        inside = rest;
    }
    Ok((Token::Set { none_of, ranges }, &pattern[end + 1..]))
}

/// Returns the alternatives after a `{`, and what follows its `}`. A brace or a comma in brackets is a character.
fn options(pattern: &[char]) -> Result<(Vec<&[char]>, &[char]), GlobError> {
    let mut options = Vec::new();
    let (mut begin, mut at) = (0, 0);
    loop {
        let c = pattern.get(at).ok_or(GlobError::OpenBrace)?;
        at += 1;
        match c {
            '[' => at = pattern.len() - set(&pattern[at..])?.1.len(),
            '{' => return Err(GlobError::NestedBrace),
            ',' | '}' => {
                options.push(&pattern[begin..at - 1]);
                begin = at;
                if *c == '}' {
                    return Ok((options, &pattern[at..]));
                }
            }
            _ => {}
        }
    }
}

/// Writes out the alternatives in braces. A brace in brackets is a character.
fn expand(pattern: &[char]) -> Result<Vec<Vec<char>>, GlobError> {
    let mut written = vec![Vec::new()];
    let mut rest = pattern;
    while let Some((c, after)) = rest.split_first() {
        rest = after;
        match c {
            '[' => {
                let (_, left) = set(after)?;
                let set = &pattern[pattern.len() - after.len() - 1..pattern.len() - left.len()];
                written.iter_mut().for_each(|w| w.extend(set));
                rest = left;
            }
            '{' => {
                let (options, left) = options(after)?;
                rest = left;
                if written.len() * options.len() > MOST_ALTERNATIVES {
                    return Err(GlobError::TooLong);
                }
                let with = |w: &Vec<char>| {
                    let w = w.clone();
                    options.iter().map(move |o| [&w, *o].concat()).collect::<Vec<_>>()
                };
                written = written.iter().flat_map(with).collect();
            }
            c => written.iter_mut().for_each(|w| w.push(*c)),
        }
    }
    if written.iter().map(Vec::len).sum::<usize>() > MOST_WRITTEN {
        return Err(GlobError::TooLong);
    }
    Ok(written)
}

/// Why a pattern is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GlobError {
    /// It is empty.
    Empty,
    /// It is too long, or has too many alternatives.
    TooLong,
    /// A `[` without `]`.
    OpenSet,
    /// A range whose end comes before its beginning.
    Backwards,
    /// A `{` without `}`.
    OpenBrace,
    /// Braces in braces.
    NestedBrace,
}

impl fmt::Display for GlobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the pattern is empty; write `*` for every name",
            Self::TooLong => {
                "the pattern is too long or has too many alternatives; write a simpler one"
            }
            Self::OpenSet => {
                "a `[` in the pattern has no `]`; write `[[]` for the character itself"
            }
            Self::Backwards => {
                "a range in the pattern ends before it begins; write `[a-z]`, not `[z-a]`"
            }
            Self::OpenBrace => {
                "a `{` in the pattern has no `}`; write `[{]` for the character itself"
            }
            Self::NestedBrace => {
                "braces in braces are not understood; write the alternatives side by side"
            }
        })
    }
}

impl std::error::Error for GlobError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: impl AsRef<[u8]>) -> bool {
        Glob::parse(pattern).unwrap().matches(path.as_ref(), false)
    }

    #[test]
    fn glob_matches_exactly_the_expected_paths() {
        for (pattern, yes, no) in [
            ("*.rs", &["a.rs", "x/y/a.rs", ".rs"][..], &["a.rsx", "rs"][..]),
            ("?", &["a", "\u{fc}"], &["", "ab"]),
            ("[a-c]x", &["ax", "cx"], &["dx", "x"]),
            ("[!a-c]x", &["dx"], &["ax"]),
            ("[]]", &["]"], &["["]),
            ("[a-]", &["a", "-"], &["b"]),
            ("src/*.rs", &["src/a.rs"], &["a.rs", "src/b/a.rs", "x/src/a.rs"]),
            ("**/a", &["a", "x/a", "x/y/a"], &["xa", "x/ya", "a/b"]),
            ("a/**", &["a/b", "a/b/c"], &["a", "b/a"]),
            ("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["a/xb", "ab"]),
            ("**/a/**", &["a/b", "x/a/b/c"], &["xa/b", "a"]),
            ("**", &["a"], &[]),
            ("a**b", &["ab", "axxb"], &["a/b"]),
            ("./*.md", &["a.md"], &[]),
            ("*.{ts,tsx}", &["a.ts", "a.tsx"], &["a.t", "a.{ts,tsx}"]),
            ("[{]a[}]", &["{a}"], &["a"]),
            ("{[}],a}", &["}", "a"], &["[,a}", "],a}"]),
            ("x{[{,}]y,[]a]}", &["x{y", "x,y", "x}y", "x]", "xa"], &["x", "xy", "x{"]),
        ] {
            yes.iter().for_each(|path| assert!(matches(pattern, path), "{pattern} {path}"));
            no.iter().for_each(|path| assert!(!matches(pattern, path), "{pattern} {path}"));
        }
        assert!(matches("a?b", b"a\xffb"), "a byte that is no character is one");
        let glob = Glob::parse("[a-c]\u{c4}*.TXT").unwrap();
        assert!(glob.matches("B\u{e4}x.txt".as_bytes(), true) && !glob.matches(b"b.txt", false));
    }

    #[test]
    fn invalid_glob_is_refused() {
        for pattern in ["", "[a", "[", "{a", "{a,{b,c}}", &"a".repeat(2000), &"{a,b}".repeat(9)] {
            assert!(Glob::parse(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn hostile_glob_terminates() {
        assert!(!matches(&"*a".repeat(500), "a".repeat(4000) + "b"));
        assert!(!matches(&("**/".repeat(300) + "b"), "a/".repeat(2000) + "a"));
    }
}

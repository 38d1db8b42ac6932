//! Paths in normal form, and patterns for them.
//!
//! A row like `below("/public") => reads` holds only if every program reads the path alike. A path has one normal form; any other
//! spelling (`//public`, `/public/../x`, `public` for `/public`) may lead elsewhere, through a link or a base folder. So a path
//! outside the normal form is compared with nothing: it counts as the worst case.
//!
//! Names are compared letter by letter. On a file system that ignores case, list what is harmless, not what is dangerous.

use std::fmt;

/// A path in normal form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path<'a> {
    /// The path begins with a slash.
    pub(crate) absolute: bool,
    /// The names, without slashes.
    pub(crate) names: Vec<&'a str>,
}

/// Why a path is not in normal form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Abnormal {
    /// The text is empty.
    Empty,
    /// It has a character that programs read differently.
    Character(char),
    /// Two slashes follow each other.
    EmptyName,
    /// A name ends in a dot or a space: `.` and `..` are steps, and Windows drops both characters.
    NameEnd,
    /// It begins with `~`, which a shell replaces.
    Home,
    /// It begins with a drive letter.
    Drive,
}

impl fmt::Display for Abnormal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::Character(c) => write!(f, "it contains {c:?}"),
            Self::EmptyName => f.write_str("two slashes follow each other"),
            Self::NameEnd => f.write_str("a name ends in a dot or a space"),
            Self::Home => f.write_str("it begins with `~`"),
            Self::Drive => f.write_str("it begins with a drive letter"),
        }
    }
}

/// Returns true if programs read a path with this character in more than one way.
pub(crate) fn is_ambiguous(c: char) -> bool {
    matches!(c, '\\' | '%' | '?' | '#') || c.is_control()
}

impl<'a> Path<'a> {
    /// Reads a path in normal form: names separated by one slash each, with an optional slash before them. One slash after them
    /// changes nothing.
    pub(crate) fn read(text: &'a str) -> Result<Self, Abnormal> {
        if let Some(c) = text.chars().find(|c| is_ambiguous(*c)) {
            return Err(Abnormal::Character(c));
        }
        let (absolute, rest) = match text.strip_prefix('/') {
            Some("") => return Ok(Self { absolute: true, names: Vec::new() }),
            Some(rest) => (true, rest),
            None if text.is_empty() => return Err(Abnormal::Empty),
            None => (false, text),
        };
        let names: Vec<&str> = rest.strip_suffix('/').unwrap_or(rest).split('/').collect();
        for name in &names {
            // Some web servers drop everything from `;` on: `..;x` is a step to them.
            match name.split(';').next().and_then(|name| name.chars().last()) {
                None => return Err(Abnormal::EmptyName),
                Some('.' | ' ') => return Err(Abnormal::NameEnd),
                Some(_) => {}
            }
        }
        let mut first = names[0].chars();
        match (first.next(), first.next()) {
            (Some('~'), _) => Err(Abnormal::Home),
            (Some(letter), Some(':')) if letter.is_ascii_alphabetic() => Err(Abnormal::Drive),
            _ => Ok(Self { absolute, names }),
        }
    }
}

/// Returns true if a path is a place or inside it.
pub(crate) fn is_below(path: &[&str], place: &[&str]) -> bool {
    path.starts_with(place)
}

/// Returns true if a path matches a pattern: `*` is any part of one name, `**` any number of names.
pub(crate) fn fits(path: &[&str], pattern: &[&str]) -> bool {
    // Fill the usual table row by row, so that no pattern takes more steps than its length times the path's.
    let mut reached = vec![false; path.len() + 1];
    reached[0] = true;
    for part in pattern {
        let mut next = vec![false; path.len() + 1];
        if *part == "**" {
            let mut any = false;
            for (at, reached) in reached.iter().enumerate() {
                any |= *reached;
                next[at] = any;
            }
        } else {
            for at in 0..path.len() {
                next[at + 1] = reached[at] && name_fits(path[at], part);
            }
        }
        reached = next;
    }
    reached[path.len()]
}

/// Returns true if one name matches one part of a pattern.
fn name_fits(name: &str, pattern: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, middle)) = pieces.split_last() else { return rest.is_empty() };
    for piece in middle {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(text: &str) -> Vec<&str> {
        text.split('/').filter(|part| !part.is_empty()).collect()
    }

    #[test]
    fn path_has_one_normal_form() {
        for (path, absolute) in [("/a/b", true), ("/a/b/", true), ("a/b", false), ("a/b/", false)] {
            assert_eq!(Path::read(path), Ok(Path { absolute, names: vec!["a", "b"] }), "{path}");
        }
        assert_eq!(Path::read("/"), Ok(Path { absolute: true, names: vec![] }));
        for path in [
            ".hidden",
            "a..b/c d/é",
            "/a/...b",
            "/xy:/a:b",
            "/a/~b",
            "/a/~/b",
            "é:/a",
            "ab:/c",
            "/a;x/b",
        ] {
            assert!(Path::read(path).is_ok(), "{path:?}");
        }
        for (path, why) in [
            ("", Abnormal::Empty),
            ("//", Abnormal::EmptyName),
            ("//a", Abnormal::EmptyName),
            ("/a//b", Abnormal::EmptyName),
            ("/a/b//", Abnormal::EmptyName),
            (".", Abnormal::NameEnd),
            ("./a", Abnormal::NameEnd),
            ("/a/.", Abnormal::NameEnd),
            ("/x/../a", Abnormal::NameEnd),
            ("/a/...", Abnormal::NameEnd),
            ("/a/.. /b", Abnormal::NameEnd),
            ("/a./b", Abnormal::NameEnd),
            ("/a ", Abnormal::NameEnd),
            ("/a/..;/b", Abnormal::NameEnd),
            ("/a/.;x=1/b", Abnormal::NameEnd),
            ("/a/;x/b", Abnormal::EmptyName),
            (r"\\server\a", Abnormal::Character('\\')),
            (r"/a/..\b", Abnormal::Character('\\')),
            ("/a/%2e%2e/b", Abnormal::Character('%')),
            ("/a\0b", Abnormal::Character('\0')),
            ("/a?b", Abnormal::Character('?')),
            ("/a#b", Abnormal::Character('#')),
            ("/a\nb", Abnormal::Character('\n')),
            ("/a\u{85}b", Abnormal::Character('\u{85}')),
            ("~/a", Abnormal::Home),
            ("~root", Abnormal::Home),
            ("/~/a", Abnormal::Home),
            ("C:/a", Abnormal::Drive),
            ("c:a", Abnormal::Drive),
            ("/C:/a", Abnormal::Drive),
        ] {
            assert_eq!(Path::read(path), Err(why), "{path:?}");
        }
    }

    #[test]
    fn glob_matches_names_and_depth() {
        for (path, pattern, expected) in [
            ("/repos/a/b", "/repos/*/*", true),
            ("/repos/a/b/issues", "/repos/*/*", false),
            ("/repos/a/b/issues", "/repos/**", true),
            ("/repos", "/repos/**", true),
            ("/a/x/b/y/c", "/a/**/c", true),
            ("/a/x/b/y/d", "/a/**/c", false),
            ("/notes.txt", "/*.txt", true),
            ("/notes.txt.gz", "/*.txt", false),
            ("/anna", "/a*n*a", true),
            ("/ana", "/a*a*a", false),
            ("/", "/**", true),
            ("/", "/*", false),
        ] {
            assert_eq!(fits(&split(path), &split(pattern)), expected, "{path} {pattern}");
        }
    }

    proptest! {
        #[test]
        fn glob_without_stars_matches_only_itself(a in "[a-c]{1,3}", b in "[a-c]{1,3}") {
            prop_assert_eq!(name_fits(&a, &b), a == b);
        }

        #[test]
        fn star_matching_agrees_with_exhaustive_search(name in "[ab]{0,6}", pattern in "[ab*]{0,6}") {
            fn slow(name: &[u8], pattern: &[u8]) -> bool {
                match pattern {
                    [] => name.is_empty(),
                    [b'*', rest @ ..] => (0..=name.len()).any(|n| slow(&name[n..], rest)),
                    [c, rest @ ..] => name.first() == Some(c) && slow(&name[1..], rest),
                }
            }
            prop_assert_eq!(name_fits(&name, &pattern), slow(name.as_bytes(), pattern.as_bytes()));
        }

        /// No program that resolves steps, empty names and a base folder reads it differently.
        #[test]
        fn normal_path_is_its_own_resolution(text in "[a./~: ]{0,8}") {
            let Ok(path) = Path::read(&text) else { return Ok(()) };
            let mut resolved: Vec<&str> = Vec::new();
            for name in text.split('/') {
                match name.trim_end_matches([' ', '.']) {
                    "" if name.is_empty() => {}
                    "" => { resolved.pop(); }
                    _ => resolved.push(name),
                }
            }
            prop_assert_eq!(&path.names, &resolved);
            let slash = if path.absolute { "/" } else { "" };
            let written = format!("{slash}{}", resolved.join("/"));
            prop_assert!(text == written || text == format!("{written}/"), "{:?}", written);
        }
    }
}

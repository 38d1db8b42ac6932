//! Paths as they are meant, and patterns for them.
//!
//! A table that says "below `/public` it only reads" must not be talked into it by `/public/../etc`. So paths are compared
//! in one spelling, and one that can be read in two ways is not compared at all.

/// The parts of a path in its one spelling; none if different programs would read it differently.
pub(crate) fn parts(path: &str) -> Option<Vec<&str>> {
    if path.contains(['\\', '\0', '%', '?', '#']) || path.chars().any(char::is_control) {
        return None;
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            // Out of the root, or of a place that is not known.
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts)
}

/// Whether a path lies at or below a place.
pub(crate) fn is_below(path: &[&str], place: &[&str]) -> bool {
    path.starts_with(place)
}

/// Whether a path fits a pattern: `*` is any part of one name, `**` any number of names.
pub(crate) fn fits(path: &[&str], pattern: &[&str]) -> bool {
    // Row by row of the usual table, so that no pattern can take more than its length times the path's.
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

/// Whether one name fits one part of a pattern.
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
    fn a_path_has_one_spelling() {
        for path in ["/a/b", "a/b/", "//a/./b", "/a/c/../b", "/x/../a/b"] {
            assert_eq!(parts(path), Some(vec!["a", "b"]), "{path}");
        }
        for path in ["/../a", "a/../..", r"a\b", "/a/%2e%2e/b", "/a\0b", "/a?b", "/a#b", "/a\nb"] {
            assert_eq!(parts(path), None, "{path:?}");
        }
    }

    #[test]
    fn patterns_fit_names_and_numbers_of_names() {
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
        fn a_pattern_without_stars_is_a_name(a in "[a-c]{1,3}", b in "[a-c]{1,3}") {
            prop_assert_eq!(name_fits(&a, &b), a == b);
        }

        #[test]
        fn stars_fit_as_slowly_trying_everything_says(name in "[ab]{0,6}", pattern in "[ab*]{0,6}") {
            fn slow(name: &[u8], pattern: &[u8]) -> bool {
                match pattern {
                    [] => name.is_empty(),
                    [b'*', rest @ ..] => (0..=name.len()).any(|n| slow(&name[n..], rest)),
                    [c, rest @ ..] => name.first() == Some(c) && slow(&name[1..], rest),
                }
            }
            prop_assert_eq!(name_fits(&name, &pattern), slow(name.as_bytes(), pattern.as_bytes()));
        }

        #[test]
        fn nothing_escapes_its_place(path in "[a./]{0,12}") {
            if let Some(parts) = parts(&format!("/public/{path}")) {
                prop_assert!(!parts.contains(&".."));
            }
        }
    }
}

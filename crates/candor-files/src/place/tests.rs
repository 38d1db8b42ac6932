use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> Vec<Vec<u8>> {
    RootedPath::parse(text).unwrap().names().map(<[u8]>::to_vec).collect()
}

#[test]
fn path_spellings_parse_to_the_same_names() {
    for text in ["", ".", "./", ".//."] {
        assert!(RootedPath::parse(text).unwrap().is_root(), "{text:?}");
    }
    for text in ["a/b", "./a/b", "a//b", "a/b/", "a/./b", "./a//./b/."] {
        assert_eq!(parsed(text), [b"a", b"b"], "{text:?}");
    }
    assert_eq!(parsed("a b/%2e%2e/...")[1], b"%2e%2e", "only URIs are decoded");
}

#[test]
fn invalid_path_is_refused_with_its_own_error() {
    let long = "a/".repeat(3000);
    let deep = vec!["a"; 257].join("/");
    let refused = [
        ("/etc/passwd", PathError::Absolute),
        ("//a", PathError::Absolute),
        ("..", PathError::Parent),
        ("a/../b", PathError::Parent),
        ("a/..", PathError::Parent),
        ("a\0b", PathError::Nul),
        (&"x".repeat(4097), PathError::TooLong),
        (&deep, PathError::TooDeep),
        (&long, PathError::TooDeep),
    ];
    for (text, error) in refused {
        assert_eq!(RootedPath::parse(text), Err(error));
    }
    assert!(RootedPath::parse(&"x".repeat(4096)).is_ok());
    assert_eq!(parsed(&vec!["a"; 256].join("/")).len(), 256);
}

#[test]
fn uri_path_is_split_before_decoding() {
    let place = RootedPath::from_uri_path("a%20b/%ff%3F/").unwrap();
    assert_eq!(place.names().collect::<Vec<_>>(), [&b"a b"[..], b"\xff?"]);
    for root in ["", "/"] {
        assert!(RootedPath::from_uri_path(root).unwrap().is_root());
    }
    let refused = [
        ("a%2Fb", PathError::Slash),
        ("%2fetc", PathError::Slash),
        ("%2e%2e", PathError::Parent),
        ("a/%2E./b", PathError::Parent),
        ("%2e", PathError::Empty),
        ("a/./b", PathError::Empty),
        ("a%00", PathError::Nul),
        ("a%", PathError::Escape),
        ("a%2", PathError::Escape),
        ("a%zz", PathError::Escape),
        ("a%+1", PathError::Escape),
        ("a?b", PathError::Escape),
        ("a#b", PathError::Escape),
        ("/a", PathError::Empty),
        ("//", PathError::Empty),
        ("a//b", PathError::Empty),
        ("a//", PathError::Empty),
        (&"%41".repeat(4097), PathError::TooLong),
    ];
    for (text, error) in refused {
        assert_eq!(RootedPath::from_uri_path(text), Err(error), "{text:?}");
    }
}

#[test]
fn path_joins_and_parents_are_inverse() {
    let place = RootedPath::parse("a/.b/c").unwrap();
    assert_eq!(place.name(), Some(&b"c"[..]));
    assert!(place.is_hidden());
    let parent = place.parent().unwrap();
    assert_eq!(parent, RootedPath::parse("a/.b").unwrap());
    assert_eq!(parent.join("c").unwrap(), place);
    assert!(place.is_within(&parent) && place.is_within(&place) && !parent.is_within(&place));
    assert!(!RootedPath::parse("ab").unwrap().is_within(&RootedPath::parse("a").unwrap()));
    assert_eq!(parent.parent().unwrap().parent(), Some(RootedPath::root()));
    assert_eq!(RootedPath::root().parent(), None);
    assert_eq!(RootedPath::root().name(), None);
    assert_eq!(RootedPath::root().join("a/b"), Err(PathError::Slash));
    assert!(!RootedPath::parse("a..b/c.d").unwrap().is_hidden());
}

#[test]
fn hostile_name_is_shown_escaped() {
    let place = RootedPath::root().join(b"a\x1b[2J\n\xff\xe2\x80\xaetxt.exe").unwrap();
    assert_eq!(place.to_string(), r"a\u{1b}[2J\u{a}\xff\u{202e}txt.exe");
    assert_eq!(RootedPath::root().to_string(), ".");
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![1..=255_u8, Just(b'%'), Just(b'.')], 1..20)
        .prop_map(|n| n.into_iter().filter(|b| *b != b'/').collect::<Vec<_>>())
        .prop_filter("a name", |n| !matches!(&n[..], b"" | b"." | b".."))
}

proptest! {
    #[test]
    fn names_survive_a_round_trip_through_a_uri(names in prop::collection::vec(name(), 0..8)) {
        let place = names.iter().fold(RootedPath::root(), |p, n| p.join(n).unwrap());
        let uri = place.to_uri_path();
        prop_assert!(uri.is_ascii());
        prop_assert_eq!(RootedPath::from_uri_path(&uri), Ok(place.clone()));
        prop_assert_eq!(place.names().map(<[u8]>::to_vec).collect::<Vec<_>>(), names);
        prop_assert!(!place.to_string().chars().any(char::is_control));
    }

    #[test]
    fn parsed_path_never_leaves_the_root(text in "([a-c./%\\\\\0]|%2[eEfF]|%00|\\.\\./){0,24}") {
        for place in [RootedPath::parse(&text), RootedPath::from_uri_path(&text)].into_iter().flatten() {
            for name in place.names() {
                prop_assert!(!matches!(name, b"" | b"." | b".."));
                prop_assert!(!name.contains(&0) && !name.contains(&b'/'));
            }
        }
    }

    #[test]
    fn displayed_path_parses_to_itself(text in "[a-c./]{0,24}") {
        if let Ok(place) = RootedPath::parse(&text) {
            prop_assert_eq!(RootedPath::parse(&place.to_string()), Ok(place));
        }
    }
}

//! A random folder, walked by its URIs and compared with what `std::fs` says of it.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use candor_files::{Directory, media_type};
use candor_server::testing::TestClient;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde_json::{Value, json};

use crate::common::{Scratch, is_superuser, odd_names};
use crate::{both, children, metadata, uri_of};

const SEEDS: u64 = 6;
const THINGS: usize = 90;
/// Links make the tree endless; so far it is walked.
const DEPTH: usize = 6;
const MOST_FOLDERS: usize = 60;

/// A generator that gives the same folder for the same seed (xorshift).
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

fn content(chance: &mut Chance) -> Vec<u8> {
    match chance.below(7) {
        0 => Vec::new(),
        1 => "Gr\u{fc}\u{df}e\n".into(),
        2 => b"text and a \0".to_vec(),
        3 => b"no text: \xff\xfe".to_vec(),
        4 => b"\x89PNG\r\n\x1a\n....".to_vec(),
        5 => "\u{fc}".repeat(700).into(),
        _ => vec![b'x'; chance.below(5000)],
    }
}

/// Fills a folder with everything that a disk can hold.
fn build(scratch: &Scratch, seed: u64) {
    let mut chance = Chance(seed * 0x9e37_79b9 + 1);
    let mut names = odd_names();
    names.extend(["notes.txt", "main.rs", "page.html", "README"].map(|n| n.as_bytes().to_vec()));
    let mut folders = vec![PathBuf::new()];
    let mut closed = Vec::new();
    for _ in 0..THINGS {
        let path = chance.pick(&folders).join(OsString::from_vec(chance.pick(&names)));
        let full = scratch.inside(&path);
        if fs::symlink_metadata(&full).is_ok() {
            continue;
        }
        match chance.below(12) {
            0..=3 => {
                fs::write(&full, content(&mut chance)).unwrap();
                // Up to a hundred years before and after the epoch, to the nanosecond.
                let span = Duration::from_nanos(chance.below(1 << 31) as u64 * 1_468_000_007);
                let time = if chance.below(3) == 0 { UNIX_EPOCH - span } else { UNIX_EPOCH + span };
                fs::File::open(&full).unwrap().set_modified(time).unwrap();
                if chance.below(10) == 0 {
                    closed.push(full);
                }
            }
            4..=6 => {
                if fs::create_dir(&full).is_ok() {
                    folders.push(path);
                    if chance.below(8) == 0 {
                        closed.push(full);
                    }
                }
            }
            7..=9 => {
                let steps = [&b".."[..], b".", b"outside", b"inside", b"..", b"/"];
                let target = (0..=chance.below(4)).map(|_| match chance.below(3) {
                    0 => chance.pick(&steps).to_vec(),
                    _ => chance.pick(&names),
                });
                let target = target.collect::<Vec<_>>().join(&b'/');
                std::os::unix::fs::symlink(OsString::from_vec(target), full).unwrap();
            }
            10 => scratch.pipe(path),
            // A socket's path must be short.
            _ => drop(std::os::unix::net::UnixListener::bind(full)),
        }
    }
    if !is_superuser() {
        // What is inside first: afterwards nobody gets there.
        for path in closed.into_iter().rev() {
            fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
        }
    }
}

/// What the last part of a URI stands for, read by other code than ours.
fn last_name(uri: &str) -> OsString {
    let mut bytes = uri.rsplit('/').next().unwrap().bytes();
    let mut name = Vec::new();
    while let Some(byte) = bytes.next() {
        name.push(match byte {
            b'%' => {
                let hex = [bytes.next().unwrap(), bytes.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap()
            }
            other => other,
        });
    }
    OsString::from_vec(name)
}

/// Milliseconds from the epoch, downwards.
fn millis(time: SystemTime) -> i128 {
    let nanos = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i128::try_from(since.as_nanos()).unwrap(),
        Err(before) => -i128::try_from(before.duration().as_nanos()).unwrap(),
    };
    nanos.div_euclid(1_000_000)
}

/// The same of `2026-07-28T09:30:00.250Z`, counted year by year.
fn millis_of(text: &str) -> i128 {
    let number = |range: std::ops::Range<usize>| text[range].parse::<i128>().unwrap();
    assert_eq!((text.len(), &text[23..]), (24, "Z"), "{text}");
    let leap = |year: i128| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let year_days = |year| if leap(year) { 366 } else { 365 };
    let (year, month) = (number(0..4), number(5..7));
    let mut days = number(8..10) - 1;
    days += (1970..year).map(year_days).sum::<i128>();
    days -= (year..1970).map(year_days).sum::<i128>();
    let february = if leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    days += months.iter().take(usize::try_from(month).unwrap() - 1).sum::<i128>();
    let seconds = ((days * 24 + number(11..13)) * 60 + number(14..16)) * 60 + number(17..19);
    seconds * 1000 + number(20..23)
}

/// What the system says of something: its metadata, links followed if they lead anywhere inside.
fn by_the_system(inside: &Dir, root: &Path, path: &Path) -> fs::Metadata {
    let itself = fs::symlink_metadata(root.join(path)).unwrap();
    match inside.metadata(path) {
        Ok(_) => fs::metadata(root.join(path)).unwrap_or(itself),
        Err(_) => itself,
    }
}

fn kind(metadata: &fs::Metadata) -> Option<&'static str> {
    match metadata.file_type() {
        t if t.is_dir() => Some("inode/directory"),
        t if t.is_symlink() => Some("inode/symlink"),
        t if t.is_fifo() => Some("inode/fifo"),
        t if t.is_socket() => Some("inode/socket"),
        _ => None,
    }
}

/// Compares one resource of a list with what the system says.
fn compare(resource: &Value, metadata: &fs::Metadata, full: &Path) {
    let name = full.file_name().unwrap();
    assert_eq!(resource["name"], *name.to_string_lossy(), "{full:?}");
    let kind = kind(metadata);
    let (is_file, is_folder) = (kind.is_none(), kind == Some("inode/directory"));
    let expected = kind.map_or_else(
        || media_type(name.as_bytes(), || fs::read(full).ok()).into_owned(),
        str::to_owned,
    );
    assert_eq!(resource["mimeType"], expected, "{full:?}");
    let size = if is_file { json!(metadata.len()) } else { Value::Null };
    assert_eq!(resource["size"], size, "{full:?}");
    let able = json!({"list": is_folder, "subscribe": is_file || is_folder});
    assert_eq!(resource["capabilities"], able, "{full:?}");
    let modified = resource["annotations"]["lastModified"].as_str().unwrap();
    assert_eq!(millis_of(modified), millis(metadata.modified().unwrap()), "{full:?}");
}

/// Reads a resource and compares it with what the list said, and with the file.
async fn compare_read(client: &TestClient, resource: &Value, full: &Path) {
    let uri = uri_of(resource);
    let read = client.request("resources/read", json!({"uri": uri})).await;
    let is_folder = resource["mimeType"] == "inode/directory";
    if resource["size"].is_null() && !is_folder {
        return assert!(read.is_err(), "{uri} holds nothing that could be read");
    }
    if is_folder && fs::read_dir(full).is_ok() {
        let mut read = read.unwrap();
        for content in read["contents"].take().as_array().unwrap() {
            let child = metadata(client, uri_of(content)).await;
            agree(content, &child);
            let bytes = fs::read(full.join(last_name(uri_of(content)))).unwrap();
            assert_eq!(content["text"].as_str().unwrap().as_bytes(), bytes);
        }
        return;
    }
    let Ok(bytes) = fs::read(full) else {
        return assert!(read.is_err(), "{uri} may not be read");
    };
    let read = read.unwrap();
    let contents = read["contents"].as_array().unwrap();
    assert_eq!(contents.len(), 1, "{read}");
    agree(&contents[0], resource);
    match std::str::from_utf8(&bytes).ok().filter(|text| !text.contains('\0')) {
        Some(text) => {
            assert_eq!((&contents[0]["text"], contents[0].get("blob")), (&json!(text), None));
        }
        None => {
            let blob = json!(BASE64_STANDARD.encode(&bytes));
            assert_eq!((&contents[0]["blob"], contents[0].get("text")), (&blob, None));
        }
    }
}

fn agree(content: &Value, resource: &Value) {
    for member in ["uri", "name", "mimeType", "size", "annotations", "capabilities"] {
        assert_eq!(content[member], resource[member], "{member} of {resource}");
    }
}

/// Walks everything, so far as it goes; gives how many of each kind were met.
async fn walk(
    client: &TestClient,
    directory: &Directory,
    scratch: &Scratch,
) -> BTreeMap<String, usize> {
    let root = scratch.inside("");
    let inside = Dir::open_ambient_dir(&root, ambient_authority()).unwrap();
    let hidden = format!("{directory:?}").contains("hidden: true");
    let mut met = BTreeMap::new();
    let mut uris = HashSet::new();
    let mut folders = VecDeque::from([(directory.uri().to_owned(), PathBuf::new(), 0)]);
    let mut walked = 0;
    while let Some((uri, path, depth)) = folders.pop_front() {
        walked += 1;
        if walked > MOST_FOLDERS {
            break;
        }
        let Ok(names) = fs::read_dir(root.join(&path)) else {
            let refused = client.request("resources/list", json!({"uri": uri})).await;
            assert!(refused.is_err(), "{uri} is closed");
            continue;
        };
        let mut names: Vec<OsString> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.retain(|name| hidden || name.as_bytes()[0] != b'.');
        names.sort();
        let listed = children(client, &uri).await;
        let got: Vec<OsString> = listed.iter().map(|child| last_name(uri_of(child))).collect();
        assert_eq!(got, names, "every name once, in {uri}");
        let mut read = crate::ask(client, "resources/directory/read", &uri).await;
        assert_eq!(read["resources"].take(), json!(listed), "the same by the extension");
        for child in listed {
            let path = path.join(last_name(uri_of(&child)));
            let full = root.join(&path);
            assert!(uris.insert(uri_of(&child).to_owned()), "{child} is there twice");
            assert_eq!(metadata(client, uri_of(&child)).await, child);
            let seen = by_the_system(&inside, &root, &path);
            // Whether a link leads to something hidden is not for `std` to say.
            if hidden || !full.is_symlink() {
                compare(&child, &seen, &full);
            }
            compare_read(client, &child, &full).await;
            *met.entry(child["mimeType"].as_str().unwrap().to_owned()).or_default() += 1;
            if child["capabilities"]["list"] == true && depth < DEPTH {
                folders.push_back((uri_of(&child).to_owned(), path, depth + 1));
            }
        }
    }
    met
}

#[tokio::test]
async fn random_folder_matches_the_file_system() {
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..SEEDS {
        let scratch = Scratch::new();
        build(&scratch, seed);
        for hidden in [true, false] {
            let directory = Directory::open(scratch.inside("")).unwrap().hidden(hidden);
            for client in both(&directory) {
                for (kind, count) in walk(&client, &directory, &scratch).await {
                    *met.entry(kind).or_default() += count;
                }
            }
        }
    }
    for kind in ["inode/directory", "inode/symlink", "inode/fifo", "inode/socket", "text/plain"] {
        assert!(met.get(kind).is_some_and(|count| *count > 20), "{kind} in {met:?}");
    }
}

#[tokio::test]
async fn link_cycle_is_followed_up_to_a_limit() {
    let scratch = Scratch::new();
    scratch.file("a/file", "text");
    scratch.link("a/up", "..");
    scratch.link("self", "self");
    for client in both(&crate::docs(&scratch)) {
        let round = format!("docs:///{}a/file", "a/up/".repeat(12));
        assert_eq!(client.read(&round).await[0].text.as_deref(), Some("text"));
        assert_eq!(metadata(&client, "docs:///self").await["mimeType"], "inode/symlink");
        let too_far = format!("docs:///{}", "a/up/".repeat(60));
        let lost = client.request("resources/list", json!({"uri": too_far})).await;
        assert_eq!(lost.unwrap_err().message, "Resource not found");
    }
}

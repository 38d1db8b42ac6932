//! What a call would do, in a sentence for the reviewer: `preview_manage_files` and `preview_move_files`.
//!
//! Each plan is bound to the file that would be lost or moved: its inode, its size, its times, and the content that the preview
//! read. An approval is void if the file has changed since.

use candor::files::{Entry, FileError, Kind, Overwrite, Root, RootedPath, media_type};
use candor::operator::shown::cut;
use candor::prelude::*;
use candor::tool::Plan;

use super::arrange::Arrange;
use super::manage::{Action, given};
use super::{FilesProblem, Folder};
use crate::digest;

/// The maximum number of lines that are shown of the old text, and of the new.
const LINES: usize = 10;

/// The maximum number of characters that are shown of a line.
const LETTERS: usize = 160;

/// The maximum number of bytes that are read of a file that would be lost.
const LOOKED_INTO: usize = 64 * 1024;

pub(super) async fn of_manage(
    path: String,
    action: Action,
    content: Option<String>,
    folder: State<Folder>,
    ctx: Ctx,
) -> Result<Plan<String>, ToolError> {
    let largest = folder.largest;
    match action {
        Action::Read => {
            let place = folder.reserve_text(path, &ctx).await?;
            folder.run(move |root| read(root, &place, largest)).await
        }
        Action::Delete => {
            folder.run(move |root| delete(root, &RootedPath::parse(&path)?, largest)).await
        }
        Action::Append => {
            let content = given(content, "append")?;
            folder
                .run(move |root| append(root, &RootedPath::parse(&path)?, &content, largest))
                .await
        }
        Action::Replace => {
            let content = given(content, "replace")?;
            let place = RootedPath::parse(&path).map_err(|e| e.told())?;
            folder.check_size(&place, content.len())?;
            folder.run(move |root| replace(root, &place, &content)).await
        }
    }
}

fn read(root: &Root, place: &RootedPath, largest: u64) -> Result<Plan<String>, FilesProblem> {
    root.read_text(place, largest)?;
    Ok(Plan::new(format!("Read {}.", named(place)), ""))
}

fn delete(root: &Root, place: &RootedPath, largest: u64) -> Result<Plan<String>, FilesProblem> {
    let entry = match root.would_delete(place) {
        Ok(entry) => entry,
        // Like the tool itself: deleting a missing file succeeds.
        Err(FileError::NotFound(_) | FileError::NoFolder(_)) => {
            return Ok(Plan::new(
                format!("Delete nothing: {} is not there.", named(place)),
                "nothing",
            ));
        }
        Err(error) => return Err(error.into()),
    };
    let name = named(place);
    let mut read = None;
    let words = match entry.kind {
        _ if entry.link => format!("Delete the link {name}; its target stays."),
        Kind::Folder => format!("Delete the empty folder {name}."),
        Kind::File => {
            let kind = kind(root, &entry, largest, &mut read);
            format!("Delete {name} ({}, {kind}). It cannot be undone.", bytes(entry.size))
        }
        other => format!("Delete {name} (a {}). It cannot be undone.", other.as_str()),
    };
    Ok(Plan::new(words, identity(Some(&entry), read.as_deref())))
}

fn append(
    root: &Root,
    place: &RootedPath,
    content: &str,
    limit: u64,
) -> Result<Plan<String>, FilesProblem> {
    let there = root.would_write(place)?;
    let size = there.as_ref().map_or(0, |entry| entry.size).saturating_add(content.len() as u64);
    if size > limit {
        return Err(FileError::TooLarge { place: place.clone(), size, limit }.into());
    }
    let more = bytes(content.len() as u64);
    // An append loses nothing, however much was added meanwhile.
    Ok(match &there {
        None => Plan::new(format!("Create the file {} with {more}.", named(place)), "nothing"),
        Some(entry) => {
            let target = target(entry);
            Plan::new(format!("Append {more} to {target} ({}).", bytes(entry.size)), "something")
        }
    })
}

fn replace(root: &Root, place: &RootedPath, content: &str) -> Result<Plan<String>, FilesProblem> {
    let there = root.would_write(place)?;
    let new = bytes(content.len() as u64);
    let mut read = None;
    let words = match &there {
        None => {
            format!("Create the file {} with {new}.{}", named(place), excerpt("", content, false))
        }
        Some(entry) => {
            let old = &*read.insert(root.head(place, LOOKED_INTO)?);
            let whole = old.len() as u64 == entry.size;
            let first = format!("Replace {} ({})", target(entry), bytes(entry.size));
            if whole && *old == content.as_bytes() {
                format!("{first} with the same {new}: nothing changes.")
            } else {
                let excerpt = match text(old, whole) {
                    Some(old) => excerpt(old, content, !whole),
                    None => {
                        format!(
                            "\n\nIts current content is not text.{}",
                            excerpt("", content, false)
                        )
                    }
                };
                format!("{first} with {new}; its current content is lost.{excerpt}")
            }
        }
    };
    Ok(Plan::new(words, identity(there.as_ref(), read.as_deref())))
}

pub(super) async fn of_move(
    from: String,
    to: String,
    action: Arrange,
    folder: State<Folder>,
) -> Result<Plan<String>, ToolError> {
    let largest = folder.largest;
    folder
        .run(move |root| {
            let (from, to) = (RootedPath::parse(&from)?, RootedPath::parse(&to)?);
            let (does, (what, lost)) = match action {
                Arrange::Copy => ("Copy", root.would_copy(&from, &to, Overwrite::No, largest)?),
                Arrange::CopyOver => {
                    ("Copy", root.would_copy(&from, &to, Overwrite::Yes, largest)?)
                }
                Arrange::Move => ("Move", root.would_rename(&from, &to, Overwrite::No)?),
                Arrange::MoveOver => ("Move", root.would_rename(&from, &to, Overwrite::Yes)?),
            };
            let (from, to) = (named(&from), named(&to));
            let source = match what.kind {
                // A move moves the link itself. A copy copies its target.
                _ if what.link && does == "Move" => format!("the link {from}"),
                Kind::Folder => format!("the folder {from}, with all that is in it,"),
                Kind::File => format!("{} ({})", target(&what), bytes(what.size)),
                other => format!("{from} (a {})", other.as_str()),
            };
            let words = match &lost {
                None => format!("{does} {source} to {to}."),
                Some(lost) if lost.link && does == "Move" => {
                    format!("{does} {source} to {to}; the link of that name is lost.")
                }
                Some(lost) => format!(
                    "{does} {source} over {} ({}); the current content of {to} is lost.",
                    target(lost),
                    bytes(lost.size)
                ),
            };
            let (what, lost) = (identity(Some(&what), None), identity(lost.as_ref(), None));
            let digest = format!("{what} over {lost}");
            Ok(Plan::new(words, digest))
        })
        .await
}

/// Returns the state that an approval is bound to. It differs if the file changes or another file replaces it. Size and
/// modification time are not enough: `cp -p`, `rsync -t` and `tar x` set the time. `read`: the part of the content that the preview
/// read.
fn identity(entry: Option<&Entry>, read: Option<&[u8]>) -> String {
    let Some(entry) = entry else { return "nothing".to_owned() };
    let Entry { kind, link, size, modified, id, .. } = entry;
    let kind = kind.as_str();
    let inode = id.map(|id| (id.device, id.inode));
    match entry.kind {
        // The times of a folder change with every name in it, and its content moves with it.
        Kind::Folder => format!("{kind} {link} {inode:?}"),
        _ => {
            let changed = id.map(|id| id.changed);
            let content = read.map(digest::of_bytes);
            format!("{kind} {link} {size} {modified:?} {inode:?} {changed:?} {content:?}")
        }
    }
}

/// Names the target of a link, or the file itself.
fn target(entry: &Entry) -> String {
    let name = named(&entry.place);
    if entry.link { format!("the file that {name} leads to") } else { name }
}

/// Formats a path for a sentence, in quotes if it could be read as a part of the sentence.
fn named(place: &RootedPath) -> String {
    let name = place.to_string();
    if name.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c)) {
        return name;
    }
    format!("\"{}\"", name.replace('\\', r"\\").replace('"', "\\\""))
}

/// Returns the type of a file. `read` receives the content that was read to decide it, if the name did not decide.
fn kind(root: &Root, entry: &Entry, largest: u64, read: &mut Option<Vec<u8>>) -> String {
    let name = entry.place.name().unwrap_or_default();
    let media = media_type(name, || {
        *read = (entry.size <= largest).then(|| root.head(&entry.place, LOOKED_INTO).ok())?;
        read.clone()
    });
    match &*media {
        text if text.starts_with("text/") => "text".to_owned(),
        "application/octet-stream" => "binary".to_owned(),
        other => other.to_owned(),
    }
}

/// Formats a size for users.
fn bytes(size: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if size == 1 {
        return "1 byte".to_owned();
    }
    if size < 1000 {
        return format!("{size} bytes");
    }
    // Rounded to tenths. 1000 of a unit become 1 of the next.
    let mut unit = 1000;
    for name in UNITS {
        let tenths = (u128::from(size) * 10 + unit / 2) / unit;
        if tenths < 10_000 || name == "PB" {
            return match (tenths / 10, tenths % 10) {
                (whole, 0) => format!("{whole} {name}"),
                (whole, tenth) => format!("{whole}.{tenth} {name}"),
            };
        }
        unit *= 1000;
    }
    format!("{size} bytes")
}

/// Returns the text, if the bytes are text. Unless they are the `whole` text, their end may split a character.
fn text(bytes: &[u8], whole: bool) -> Option<&str> {
    match std::str::from_utf8(bytes) {
        _ if bytes.contains(&0) => None,
        Ok(text) => Some(text),
        Err(error) if !whole && error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}

/// Returns an excerpt from the first differing line on: up to [`LINES`] old lines, then up to [`LINES`] new ones.
fn excerpt(old: &str, new: &str, more_of_old: bool) -> String {
    let (old_lines, new_lines): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let same = old_lines.iter().zip(&new_lines).take_while(|(a, b)| a == b).count();
    let mut shown = String::new();
    if same > 0 {
        shown += &format!("\n  ({} the same)", lines(same, "line is", "lines are"));
    }
    for (sign, all, more) in
        [('-', &old_lines[same..], more_of_old), ('+', &new_lines[same..], false)]
    {
        for line in all.iter().take(LINES) {
            shown += &format!("\n{sign} {}", cut(line, LETTERS));
        }
        let left = all.len().saturating_sub(LINES);
        if more {
            shown += &format!("\n{sign} (and more)");
        } else if left > 0 {
            shown += &format!("\n{sign} (and {})", lines(left, "line more", "lines more"));
        }
    }
    if shown.is_empty() { shown } else { format!("\n{shown}") }
}

fn lines(many: usize, one: &str, several: &str) -> String {
    format!("{many} {}", if many == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_to_readable_units() {
        let said = [0, 1, 999, 1000, 1849, 999_949, 999_950, 4_194_304, u64::MAX].map(bytes);
        let words = [
            "0 bytes",
            "1 byte",
            "999 bytes",
            "1 kB",
            "1.8 kB",
            "999.9 kB",
            "1 MB",
            "4.2 MB",
            "18446.7 PB",
        ];
        assert_eq!(said, words);
    }

    #[test]
    fn file_name_that_could_read_as_prose_is_quoted() {
        for (name, said) in [
            ("notes/a_b-1.txt", "notes/a_b-1.txt"),
            ("", "."),
            ("my notes.txt", r#""my notes.txt""#),
            ("a to b. Nothing is lost. See c", r#""a to b. Nothing is lost. See c""#),
            (r#"a" to b. See "c"#, r#""a\" to b. See \"c""#),
            (r#"a\" to b"#, r#""a\\\" to b""#),
            ("a\u{3164}to\u{3164}b", "\"a\u{3164}to\u{3164}b\""),
        ] {
            assert_eq!(named(&RootedPath::parse(name).unwrap()), said);
        }
    }

    #[test]
    fn excerpt_begins_at_the_first_difference() {
        assert_eq!(
            excerpt("a\nb\nc\n", "a\nx\n", false),
            "\n\n  (1 line is the same)\n- b\n- c\n+ x"
        );
        assert_eq!(excerpt("", "", false), "");
        assert_eq!(excerpt("a\u{1b}[2J", "", false), "\n\n- a\\u{1b}[2J");
    }

    #[test]
    fn excerpt_is_cut_and_counts_the_omitted_lines() {
        let old: String = (0..40).map(|n| format!("old {n}\n")).collect();
        let new = "n".repeat(1000) + "\n" + &"new\n".repeat(10);
        let shown = excerpt(&old, &new, false);
        let all: Vec<_> = shown.trim_start().lines().collect();
        assert_eq!(all.len(), 2 * LINES + 2);
        assert_eq!((all[9], all[10]), ("- old 9", "- (and 30 lines more)"));
        assert!(all[11].ends_with('…') && all[11].chars().count() == LETTERS + 2, "{}", all[11]);
        assert_eq!(all[21], "+ (and 1 line more)");
        assert!(excerpt(&old, "", true).ends_with("- (and more)"));
    }

    #[test]
    fn text_with_a_character_cut_at_its_end_is_still_text() {
        assert_eq!(text("né".as_bytes(), true), Some("né"));
        assert_eq!(text(&"né".as_bytes()[..2], false), Some("n"));
        assert_eq!(text(&"né".as_bytes()[..2], true), None);
        assert_eq!(text(b"a\0", false), None);
    }
}

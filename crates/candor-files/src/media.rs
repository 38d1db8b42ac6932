//! The media type of a file: by its name if the name decides, or else by its first bytes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

use crate::entry::{Entry, Kind};
use crate::root::Root;

/// Number of bytes to examine.
const HEAD: usize = 512;

const BYTES: &str = "application/octet-stream";

/// Extensions that are missing in the list of registered types, or have a meaning there that programmers do not expect.
const EXTENSIONS: &[(&str, &[&str])] = &[
    ("text/typescript", &["ts", "mts", "cts", "tsx"]),
    ("text/javascript", &["js", "mjs", "cjs", "jsx"]),
    ("text/rust", &["rs"]),
    ("text/markdown", &["md", "markdown", "mdx"]),
    ("text/x-python", &["py", "pyi", "pyw"]),
    ("text/x-go", &["go"]),
    ("text/x-java", &["java"]),
    ("text/x-kotlin", &["kt", "kts"]),
    ("text/x-swift", &["swift"]),
    ("text/x-scala", &["scala", "sbt"]),
    ("text/x-c", &["c", "h"]),
    ("text/x-c++", &["cc", "cpp", "cxx", "hh", "hpp", "hxx"]),
    ("text/x-csharp", &["cs"]),
    ("text/x-ruby", &["rb", "rake"]),
    ("text/x-php", &["php"]),
    ("text/x-perl", &["pl", "pm"]),
    ("text/x-dart", &["dart"]),
    ("text/x-sql", &["sql"]),
    ("text/x-tex", &["tex"]),
    ("text/x-shellscript", &["sh", "bash", "zsh", "fish", "ksh"]),
    ("text/x-diff", &["diff", "patch"]),
    ("text/x-makefile", &["mk"]),
    ("text/x-dockerfile", &["dockerfile"]),
    ("text/x-cmake", &["cmake"]),
    ("text/x-vue", &["vue"]),
    ("text/x-svelte", &["svelte"]),
    ("application/toml", &["toml"]),
    ("application/yaml", &["yaml", "yml"]),
    ("application/json", &["json", "ipynb"]),
    ("application/jsonl", &["jsonl", "ndjson"]),
    ("application/graphql", &["graphql", "gql"]),
    (
        "text/plain",
        &[
            "adoc",
            "asm",
            "bat",
            "cfg",
            "clj",
            "cljs",
            "cmd",
            "conf",
            "edn",
            "el",
            "env",
            "erl",
            "ex",
            "exs",
            "fs",
            "fsx",
            "gradle",
            "groovy",
            "hcl",
            "hrl",
            "hs",
            "ini",
            "jl",
            "lisp",
            "lock",
            "log",
            "ml",
            "mli",
            "nim",
            "nix",
            "org",
            "properties",
            "proto",
            "ps1",
            "r",
            "rst",
            "s",
            "tf",
            "txt",
            "vim",
            "zig",
        ],
    ),
];

/// Whole names, in lower case.
const NAMES: &[(&str, &[&str])] = &[
    ("text/x-makefile", &["makefile", "gnumakefile"]),
    ("text/x-dockerfile", &["dockerfile", "containerfile"]),
    ("text/x-cmake", &["cmakelists.txt"]),
    ("text/x-ruby", &["gemfile", "rakefile", "brewfile", "vagrantfile"]),
    ("application/toml", &["cargo.lock", "poetry.lock", "uv.lock", "pipfile"]),
    ("application/json", &["composer.lock", "flake.lock", "pipfile.lock"]),
    (
        "text/plain",
        &[
            ".bashrc",
            ".dockerignore",
            ".editorconfig",
            ".env",
            ".gitattributes",
            ".gitignore",
            ".gitmodules",
            ".npmignore",
            ".profile",
            ".zshrc",
            "authors",
            "changelog",
            "changes",
            "codeowners",
            "contributors",
            "copying",
            "history",
            "install",
            "jenkinsfile",
            "justfile",
            "licence",
            "license",
            "news",
            "notice",
            "procfile",
            "readme",
            "todo",
            "version",
        ],
    ),
];

/// From a name or an extension to its type. A listing asks for every file, so it is built once.
type Index = HashMap<&'static str, &'static str, BuildHasherDefault<Fnv>>;

/// FNV-1a. The tables are fixed, so callers cannot choose names that collide, and it is fast for short names.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

static BY_NAME: LazyLock<Index> = LazyLock::new(|| index(NAMES));
static BY_EXTENSION: LazyLock<Index> = LazyLock::new(|| index(EXTENSIONS));

fn index(table: &[(&'static str, &'static [&'static str])]) -> Index {
    table.iter().flat_map(|(media, keys)| keys.iter().map(|key| (*key, *media))).collect()
}

/// The first bytes of common types, and their offsets.
const MAGIC: &[(usize, &[u8], &str)] = &[
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (8, b"AVI ", "video/x-msvideo"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (4, b"ftypM4A ", "audio/mp4"),
    (4, b"ftyp", "video/mp4"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"\0\0\x01\0", "image/vnd.microsoft.icon"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"PK\x05\x06", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (257, b"ustar", "application/x-tar"),
    (0, b"\x7fELF", "application/x-elf"),
    (0, b"\0asm", "application/wasm"),
    (0, b"\xca\xfe\xba\xbe", "application/java-vm"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"OggS", "application/ogg"),
    (0, b"\x1a\x45\xdf\xa3", "video/webm"),
    (0, b"wOFF", "font/woff"),
    (0, b"wOF2", "font/woff2"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
];

/// Returns true if these bytes are text: UTF-8 without NUL.
#[must_use]
pub fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}

/// Returns the type of a file by its name alone, if that decides. `.ts` is TypeScript here. It may also be a video: a reader of the
/// file can find out.
#[must_use]
pub fn media_type_by_name(name: &[u8]) -> Option<Cow<'static, str>> {
    let mut name = Cow::Borrowed(std::str::from_utf8(name).ok()?);
    if name.bytes().any(|b| b.is_ascii_uppercase()) {
        name.to_mut().make_ascii_lowercase();
    }
    if let Some(media) = BY_NAME.get(&*name) {
        return Some(Cow::Borrowed(media));
    }
    let (stem, extension) = name.rsplit_once('.')?;
    if stem.is_empty() {
        return None;
    }
    if stem == "dockerfile" {
        return Some(Cow::Borrowed("text/x-dockerfile"));
    }
    BY_EXTENSION
        .get(extension)
        .copied()
        .or_else(|| mime_guess::from_ext(extension).first_raw())
        .filter(|media| *media != BYTES)
        .map(Cow::Borrowed)
}

/// Returns the type of a file: by its name, or else by its first 512 bytes. Calls `head` only if it needs them.
///
/// ```
/// use candor_files::media_type;
///
/// assert_eq!(media_type(b"main.rs", || unreachable!()), "text/rust");
/// assert_eq!(media_type(b"blob", || Some(b"%PDF-1.7".to_vec())), "application/pdf");
/// ```
pub fn media_type(name: &[u8], head: impl FnOnce() -> Option<Vec<u8>>) -> Cow<'static, str> {
    media_type_by_name(name).unwrap_or_else(|| {
        Cow::Borrowed(head().map_or(BYTES, |head| by_content(&head[..head.len().min(HEAD)])))
    })
}

fn by_content(head: &[u8]) -> &'static str {
    let magic =
        MAGIC.iter().find(|(at, magic, _)| head.get(*at..).is_some_and(|h| h.starts_with(magic)));
    match (magic, std::str::from_utf8(head)) {
        (Some((_, _, media)), _) => media,
        _ if head.contains(&0) => BYTES,
        (None, Ok(_)) => "text/plain",
        // The end of the examined bytes cuts a character in two.
        (None, Err(e)) if e.error_len().is_none() && head.len() == HEAD => "text/plain",
        _ => BYTES,
    }
}

impl Kind {
    /// Returns the type of an entry that is not a file.
    #[must_use]
    pub fn media_type(self) -> Option<&'static str> {
        match self {
            Self::File => None,
            Self::Folder => Some("inode/directory"),
            Self::DanglingLink => Some("inode/symlink"),
            Self::Pipe => Some("inode/fifo"),
            Self::Socket => Some("inode/socket"),
            Self::CharDevice => Some("inode/chardevice"),
            Self::BlockDevice => Some("inode/blockdevice"),
        }
    }
}

impl Root {
    /// Returns the type of an entry. If the name does not decide, it reads the beginning of the file. A file with more than
    /// `looked_into` bytes is not read: its type is that of plain bytes.
    #[must_use]
    pub fn media_type(&self, entry: &Entry, looked_into: u64) -> Cow<'static, str> {
        match entry.kind.media_type() {
            Some(media) => Cow::Borrowed(media),
            None => media_type(entry.place.name().unwrap_or_default(), || {
                (entry.size <= looked_into).then(|| self.head(&entry.place, HEAD).ok()).flatten()
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> String {
        media_type(name.as_bytes(), || panic!("{name} needs its content")).into_owned()
    }

    #[test]
    fn media_type_follows_common_file_names() {
        for (name, media) in [
            ("a.ts", "text/typescript"),
            ("a.d.mts", "text/typescript"),
            ("App.TSX", "text/typescript"),
            ("main.rs", "text/rust"),
            ("README.md", "text/markdown"),
            ("README", "text/plain"),
            ("LICENSE", "text/plain"),
            ("LICENSE-MIT.txt", "text/plain"),
            ("Cargo.toml", "application/toml"),
            ("Cargo.lock", "application/toml"),
            ("yarn.lock", "text/plain"),
            ("ci.yml", "application/yaml"),
            ("run.sh", "text/x-shellscript"),
            ("Makefile", "text/x-makefile"),
            ("Dockerfile", "text/x-dockerfile"),
            ("Dockerfile.dev", "text/x-dockerfile"),
            ("index.html", "text/html"),
            ("style.css", "text/css"),
            ("app.js", "text/javascript"),
            ("data.json", "application/json"),
            ("data.csv", "text/csv"),
            ("photo.PNG", "image/png"),
            ("drawing.svg", "image/svg+xml"),
            ("paper.pdf", "application/pdf"),
            (".gitignore", "text/plain"),
        ] {
            assert_eq!(named(name), media, "{name}");
        }
    }

    #[test]
    fn media_type_of_an_unknown_name_comes_from_its_content() {
        let by_head = |head: &[u8]| media_type(b"blob", || Some(head.to_vec())).into_owned();
        assert_eq!(by_head(b"\x89PNG\r\n\x1a\nrest"), "image/png");
        assert_eq!(by_head(b"RIFF\0\0\0\0WEBPVP8 "), "image/webp");
        assert_eq!(by_head(b"\0\0\0\x20ftypisom"), "video/mp4");
        assert_eq!(by_head(b"\x7fELF\x02"), "application/x-elf");
        assert_eq!(by_head(b"SQLite format 3\0"), "application/vnd.sqlite3");
        assert_eq!(by_head("Gr\u{fc}\u{df}e".as_bytes()), "text/plain");
        assert_eq!(by_head(b""), "text/plain");
        assert_eq!(by_head(b"a\0b"), BYTES);
        assert_eq!(by_head(b"a\xffb"), BYTES);
        let cut = [&b"a".repeat(511)[..], "\u{fc}".as_bytes()].concat();
        assert_eq!(by_head(&cut), "text/plain", "a character at the edge");
        assert_eq!(by_head(&cut[..512]), "text/plain");
        assert_eq!(by_head(b"cut\xc3"), BYTES, "at the end of the file itself");
        assert_eq!(media_type(b"blob", || None), BYTES);
        assert_eq!(media_type(b"\xff.txt", || None), BYTES, "no name that can be read");
        assert_eq!(media_type(b"a.bin", || Some(b"text".to_vec())), "text/plain");
    }
}

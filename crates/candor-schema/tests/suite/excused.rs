//! The tests that we do not pass, each with its reason. The list is exact: what is excused fails.

const FORMATS_ARE_CHECKED: &str =
    "a format that is known is checked, because whoever wrote it meant it";
const NO_META_SCHEMAS: &str = "schemas of schemas are not built in, and nothing is fetched";
const OTHER_DIALECT: &str = "a `$schema` that we do not know is refused by its name";
const OTHER_DRAFT: &str = "documents of other drafts are on another host, and nothing is fetched";
const TWO_NAMES: &str = "a document is known by its `$id`, not by where it was fetched from";
const CONTENT: &str = "contents are described, not checked, as in all drafts since";

/// Tests whose names begin and end like this.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Excuse {
    drafts: &'static [&'static str],
    begins: &'static str,
    ends: &'static str,
    reason: &'static str,
}

const fn excuse(
    drafts: &'static [&'static str],
    begins: &'static str,
    ends: &'static str,
    reason: &'static str,
) -> Excuse {
    Excuse { drafts, begins, ends, reason }
}

const ALL: &[&str] = &["draft2020-12", "draft2019-09", "draft7", "draft6", "draft4"];
const NEW: &[&str] = &["draft2020-12", "draft2019-09"];
const OLD: &[&str] = &["draft7", "draft6", "draft4"];

const EXCUSES: &[Excuse] = &[
    excuse(
        &["draft2020-12"],
        "format.json | ",
        "is only an annotation by default",
        FORMATS_ARE_CHECKED,
    ),
    excuse(ALL, "ref.json | remote ref, containing refs itself | ", "", NO_META_SCHEMAS),
    excuse(NEW, "defs.json | validate definition against metaschema | ", "", NO_META_SCHEMAS),
    excuse(
        OLD,
        "definitions.json | validate definition against metaschema | ",
        "",
        NO_META_SCHEMAS,
    ),
    excuse(NEW, "vocabulary.json | ", "", OTHER_DIALECT),
    excuse(&["draft2020-12"], "optional/format-assertion.json | ", "", OTHER_DIALECT),
    excuse(
        &["draft2020-12", "draft2019-09", "draft7"],
        "optional/cross-draft.json | ",
        "",
        OTHER_DRAFT,
    ),
    excuse(NEW, "refRemote.json | remote HTTP ref with different ", "", TWO_NAMES),
    excuse(
        &["draft7"],
        "optional/content.json | validation of string-encoded content based on media type | an invalid JSON document",
        "",
        CONTENT,
    ),
    excuse(
        &["draft7"],
        "optional/content.json | validation of binary string-encoding | an invalid base64 string",
        "",
        CONTENT,
    ),
    excuse(
        &["draft7"],
        "optional/content.json | validation of binary-encoded media type documents | a",
        " invalid JSON document",
        CONTENT,
    ),
    excuse(
        &["draft7"],
        "optional/content.json | validation of binary-encoded media type documents | an invalid base64",
        "",
        CONTENT,
    ),
];

/// The excuse for a test, if it has one.
pub(super) fn excuse_for(draft: &str, name: &str) -> Option<&'static Excuse> {
    all(draft).find(|excuse| name.starts_with(excuse.begins) && name.ends_with(excuse.ends))
}

/// The excuses for tests of a draft.
pub(super) fn all(draft: &str) -> impl Iterator<Item = &'static Excuse> {
    EXCUSES.iter().filter(move |excuse| excuse.drafts.contains(&draft))
}

//! Which stories there are: what clients go through, and with which example server.

pub(super) struct Story {
    /// The example, which gives the story its name.
    pub(super) example: &'static str,
    /// The checks and what they expect, from the repository's root.
    pub(super) file: &'static str,
    /// Whether the server works on a folder, and so is given one of its own.
    pub(super) in_folder: bool,
}

/// All that the protocol has.
pub(super) static EVERYTHING: Story =
    Story { example: "everything", file: "clients/story.json", in_folder: false };

/// Tools whose schemas come from their signatures. It is for languages with a validator that shares nothing with ours.
pub(super) static SCHEMAS: Story =
    Story { example: "schemas", file: "clients/schemas.json", in_folder: false };

/// A tool that says of each call what it will do. It is for SDKs that can ask what they do not know.
pub(super) static FORESIGHT: Story =
    Story { example: "file_server", file: "clients/foresight.json", in_folder: true };

/// Resources as a tree, one of them a real folder.
pub(super) static TREE: Story =
    Story { example: "tree", file: "clients/tree.json", in_folder: true };

pub(super) static STORIES: [&Story; 4] = [&EVERYTHING, &SCHEMAS, &FORESIGHT, &TREE];

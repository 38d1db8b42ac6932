//! Which stories there are: what clients go through, and with which server.

pub(super) struct Story {
    /// What it is called, in what is printed and in the names of logs.
    pub(super) name: &'static str,
    /// What serves it.
    pub(super) program: Program,
    /// The checks and what they expect, from the repository's root.
    pub(super) file: &'static str,
    /// Whether it works on a folder, and so is given one of its own.
    pub(super) in_folder: bool,
    /// Whether a person is asked before what destroys. Then all its servers share a ledger, as those of one person do.
    pub(super) asks: bool,
}

pub(super) enum Program {
    /// An example.
    Example(&'static str),
    /// The command line: `candor files FOLDER`.
    Files,
}

/// All that the protocol has.
pub(super) static EVERYTHING: Story = Story {
    name: "everything",
    program: Program::Example("everything"),
    file: "clients/story.json",
    in_folder: false,
    asks: false,
};

/// Tools whose schemas come from their signatures. It is for languages with a validator that shares nothing with ours.
pub(super) static SCHEMAS: Story = Story {
    name: "schemas",
    program: Program::Example("schemas"),
    file: "clients/schemas.json",
    in_folder: false,
    asks: false,
};

/// A tool that says of each call what it will do. It is for SDKs that can ask what they do not know.
pub(super) static FORESIGHT: Story = Story {
    name: "file_server",
    program: Program::Example("file_server"),
    file: "clients/foresight.json",
    in_folder: true,
    asks: false,
};

/// Resources as a tree, one of them a real folder.
pub(super) static TREE: Story = Story {
    name: "tree",
    program: Program::Example("tree"),
    file: "clients/tree.json",
    in_folder: true,
    asks: false,
};

/// Calls that a person is asked about, through the client. It is for SDKs that let a call bring a key.
pub(super) static APPROVALS: Story = Story {
    name: "approvals",
    program: Program::Example("file_server"),
    file: "clients/approvals.json",
    in_folder: true,
    asks: true,
};

/// The program that people install, on a folder with a file in it.
pub(super) static FILES: Story = Story {
    name: "files",
    program: Program::Files,
    file: "clients/files.json",
    in_folder: true,
    asks: false,
};

pub(super) static STORIES: [&Story; 6] =
    [&EVERYTHING, &SCHEMAS, &FORESIGHT, &TREE, &APPROVALS, &FILES];

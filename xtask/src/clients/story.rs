//! The stories: what clients check, and with which server.

pub(super) struct Story {
    /// Its name in the output and in the names of logs.
    pub(super) name: &'static str,
    /// Its server.
    pub(super) program: Program,
    /// The file with its checks, from the repository's root.
    pub(super) file: &'static str,
    /// Whether it needs a folder of its own.
    pub(super) in_folder: bool,
    /// Whether destructive calls need approval. Then all its servers share a ledger, like the servers of one user.
    pub(super) asks: bool,
}

pub(super) enum Program {
    /// The example of this name.
    Example(&'static str),
    /// The command line: `candor files FOLDER`.
    Files,
}

/// All features of the protocol.
pub(super) static EVERYTHING: Story = Story {
    name: "everything",
    program: Program::Example("everything"),
    file: "clients/story.json",
    in_folder: false,
    asks: false,
};

/// Tools whose schemas come from their signatures. For languages with a validator that shares no code with ours.
pub(super) static SCHEMAS: Story = Story {
    name: "schemas",
    program: Program::Example("schemas"),
    file: "clients/schemas.json",
    in_folder: false,
    asks: false,
};

/// A tool that reports the effect of each call. For SDKs that can send methods that they do not know.
pub(super) static FORESIGHT: Story = Story {
    name: "file_server",
    program: Program::Example("file_server"),
    file: "clients/foresight.json",
    in_folder: true,
    asks: false,
};

/// A resource tree. One of the resources is a real folder.
pub(super) static TREE: Story = Story {
    name: "tree",
    program: Program::Example("tree"),
    file: "clients/tree.json",
    in_folder: true,
    asks: false,
};

/// Calls that the client's user approves. For SDKs whose calls can have a key.
pub(super) static APPROVALS: Story = Story {
    name: "approvals",
    program: Program::Example("file_server"),
    file: "clients/approvals.json",
    in_folder: true,
    asks: true,
};

/// The program that users install, on a folder with a file in it.
pub(super) static FILES: Story = Story {
    name: "files",
    program: Program::Files,
    file: "clients/files.json",
    in_folder: true,
    asks: false,
};

pub(super) static STORIES: [&Story; 6] =
    [&EVERYTHING, &SCHEMAS, &FORESIGHT, &TREE, &APPROVALS, &FILES];

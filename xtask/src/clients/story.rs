//! Which stories there are: what clients go through, and with which example server.

pub(super) struct Story {
    /// What it is called, in what is printed and in the names of logs.
    pub(super) name: &'static str,
    /// The example that serves it.
    pub(super) example: &'static str,
    /// The checks and what they expect, from the repository's root.
    pub(super) file: &'static str,
    /// Whether the server works on a folder, and so is given one of its own.
    pub(super) in_folder: bool,
    /// Whether a person is asked before what destroys. Then all its servers share a ledger, as those of one person do.
    pub(super) asks: bool,
}

/// All that the protocol has.
pub(super) static EVERYTHING: Story = Story {
    name: "everything",
    example: "everything",
    file: "clients/story.json",
    in_folder: false,
    asks: false,
};

/// Tools whose schemas come from their signatures. It is for languages with a validator that shares nothing with ours.
pub(super) static SCHEMAS: Story = Story {
    name: "schemas",
    example: "schemas",
    file: "clients/schemas.json",
    in_folder: false,
    asks: false,
};

/// A tool that says of each call what it will do. It is for SDKs that can ask what they do not know.
pub(super) static FORESIGHT: Story = Story {
    name: "file_server",
    example: "file_server",
    file: "clients/foresight.json",
    in_folder: true,
    asks: false,
};

/// Resources as a tree, one of them a real folder.
pub(super) static TREE: Story = Story {
    name: "tree",
    example: "tree",
    file: "clients/tree.json",
    in_folder: true,
    asks: false,
};

/// Calls that a person is asked about, through the client. It is for SDKs that let a call bring a key.
pub(super) static APPROVALS: Story = Story {
    name: "approvals",
    example: "file_server",
    file: "clients/approvals.json",
    in_folder: true,
    asks: true,
};

pub(super) static STORIES: [&Story; 5] = [&EVERYTHING, &SCHEMAS, &FORESIGHT, &TREE, &APPROVALS];

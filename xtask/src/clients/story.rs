//! Which stories there are: what clients go through, and with which example server.

pub(super) struct Story {
    /// The example, which gives the story its name.
    pub(super) example: &'static str,
    /// The checks and what they expect, from the repository's root.
    pub(super) file: &'static str,
}

/// All that the protocol has.
pub(super) static EVERYTHING: Story = Story { example: "everything", file: "clients/story.json" };

/// Tools whose schemas come from their signatures. It is for languages with a validator that shares nothing with ours.
pub(super) static SCHEMAS: Story = Story { example: "schemas", file: "clients/schemas.json" };

pub(super) static STORIES: [&Story; 2] = [&EVERYTHING, &SCHEMAS];

//! Tools that a person has agreed to call, as they were then: one that has changed since is told of before it is agreed to again.
//!
//! What a tool says of itself is what people agree by. A server that waits for their yes and then becomes another is an old trick.

use candor::desk::shown::shown;
use candor_client::KnownTool;
use candor_schema::canonical;

use crate::digest;
use crate::reach::{Found, Surroundings, Target};
use crate::remembered::Remembered;

/// A file of the state folder, a line for each tool and each change: the tool and its server, its definition, its name.
const FILE: &str = "tools";

pub(super) struct Pins {
    remembered: Remembered,
    /// What is reached or started, and where.
    server: [String; 2],
}

impl Pins {
    pub(super) fn of(found: &Found, here: &Surroundings) -> Self {
        let folder = match &found.target {
            Target::Url { .. } => String::new(),
            Target::Program { cwd, .. } => {
                cwd.as_ref().unwrap_or(&here.folder).to_string_lossy().into_owned()
            }
        };
        Self { remembered: Remembered::of(here, FILE), server: [found.to_string(), folder] }
    }

    fn tool(&self, tool: &KnownTool) -> String {
        let [server, folder] = &self.server;
        digest::of(&[server, folder, tool.name()])
    }

    /// The definition that was agreed to last.
    fn last(&self, tool: &KnownTool) -> Option<String> {
        let known = self.tool(tool);
        let text = self.remembered.text();
        let mut lines = text.lines().rev().map(|line| line.split(' '));
        let mut line = lines.find_map(|mut words| (words.next()? == known).then_some(words))?;
        line.next().map(str::to_owned)
    }

    /// Tells whoever looks that it is no longer what they agreed to.
    pub(super) fn warn_if_changed(&self, tool: &KnownTool) {
        if self.last(tool).is_some_and(|last| last != definition(tool)) {
            eprintln!(
                "{} has changed since you last agreed to a call of it: what it says of itself, or what it takes",
                shown(tool.name())
            );
        }
    }

    /// Somebody has agreed to a call of it, as it is.
    pub(super) fn keep(&self, tool: &KnownTool) {
        let now = definition(tool);
        if self.last(tool).as_ref() != Some(&now) {
            // Whoever cannot write there is asked as ever, and only not warned.
            let _ =
                self.remembered.add(&format!("{} {now} {}", self.tool(tool), shown(tool.name())));
        }
    }
}

fn definition(tool: &KnownTool) -> String {
    let whole = serde_json::to_value(tool.definition()).unwrap_or_default();
    digest::of(&[&canonical(&whole)])
}

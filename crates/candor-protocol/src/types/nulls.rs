//! Removes `null` from definitions. For an optional member, the published schemas allow absence, but not `null`, and strict
//! clients refuse a whole list because of one `null`. Unknown members keep theirs.

use super::{
    Annotations, CallToolResult, Content, GetPromptResult, Icon, Implementation, Prompt, Resource,
    ResourceContents, ResourceTemplate, Tool,
};
use crate::json::{Object, raw};

/// Members of a tool's `execution`, which has no type of its own here.
const EXECUTION: &[&str] = &["taskSupport"];

impl Tool {
    /// Removes optional members of the protocol that are `null`.
    pub fn drop_nulls(&mut self) {
        self.drop_own_nulls();
        if let Some(annotations) = &mut self.annotations {
            annotations.drop_own_nulls();
        }
        drop_in_icons(self.icons.as_mut());
        let Some(execution) = self.extra.get("execution") else { return };
        if execution.is_null() {
            drop_members(&mut self.extra, &["execution"]);
        } else if let Ok(Some(mut execution)) = self.extra.read::<Object>("execution") {
            drop_members(&mut execution, EXECUTION);
            self.extra.set("execution", raw(&execution));
        }
    }
}

impl Prompt {
    /// Removes optional members of the protocol that are `null`.
    pub fn drop_nulls(&mut self) {
        self.drop_own_nulls();
        for argument in self.arguments.iter_mut().flatten() {
            argument.drop_own_nulls();
        }
        drop_in_icons(self.icons.as_mut());
    }
}

impl CallToolResult {
    /// Removes optional members of the protocol that are `null`.
    pub fn drop_nulls(&mut self) {
        self.drop_own_nulls();
        self.content.iter_mut().for_each(Content::drop_nulls);
    }
}

impl GetPromptResult {
    /// Removes optional members of the protocol that are `null`.
    pub fn drop_nulls(&mut self) {
        self.drop_own_nulls();
        self.messages.iter_mut().for_each(|message| message.content.drop_nulls());
    }
}

impl Content {
    /// Removes optional members of the protocol that are `null`.
    pub fn drop_nulls(&mut self) {
        let annotations = match self {
            Self::Text(text) => {
                text.drop_own_nulls();
                &mut text.annotations
            }
            Self::Image(image) => {
                image.drop_own_nulls();
                &mut image.annotations
            }
            Self::Audio(audio) => {
                audio.drop_own_nulls();
                &mut audio.annotations
            }
            Self::ResourceLink(link) => {
                link.drop_own_nulls();
                drop_in_icons(link.icons.as_mut());
                &mut link.annotations
            }
            Self::Resource(embedded) => {
                embedded.drop_own_nulls();
                embedded.resource.drop_nulls();
                &mut embedded.annotations
            }
            // Only models write these.
            Self::ToolUse(_) | Self::ToolResult(_) | Self::Other(_) => return,
        };
        if let Some(annotations) = annotations {
            annotations.drop_own_nulls();
        }
    }
}

impl Implementation {
    /// Removes optional members of the protocol that are `null`.
    pub fn drop_nulls(&mut self) {
        self.drop_own_nulls();
        drop_in_icons(self.icons.as_mut());
    }
}

impl Resource {
    /// Removes optional members of the protocol that are `null`.
    pub fn drop_nulls(&mut self) {
        self.drop_own_nulls();
        drop_in_advice(self.icons.as_mut(), self.annotations.as_mut());
        if let Some(capabilities) = &mut self.capabilities {
            capabilities.drop_own_nulls();
        }
    }
}

impl ResourceTemplate {
    /// Removes optional members of the protocol that are `null`.
    pub fn drop_nulls(&mut self) {
        self.drop_own_nulls();
        drop_in_advice(self.icons.as_mut(), self.annotations.as_mut());
    }
}

impl ResourceContents {
    /// Removes optional members of the protocol that are `null`.
    pub fn drop_nulls(&mut self) {
        self.drop_own_nulls();
        drop_in_advice(self.icons.as_mut(), self.annotations.as_mut());
        if let Some(capabilities) = &mut self.capabilities {
            capabilities.drop_own_nulls();
        }
    }
}

fn drop_in_advice(icons: Option<&mut Vec<Icon>>, annotations: Option<&mut Annotations>) {
    drop_in_icons(icons);
    if let Some(annotations) = annotations {
        annotations.drop_own_nulls();
    }
}

fn drop_in_icons(icons: Option<&mut Vec<Icon>>) {
    for icon in icons.into_iter().flatten() {
        icon.drop_own_nulls();
    }
}

fn drop_members(object: &mut Object, names: &[&str]) {
    // It cannot fail: nothing is decoded.
    let _ = object.retain(|name, json| Ok(!(json.is_null() && names.contains(&name))));
}

//! Trees without an end. A client that walks them has to track where it has been, and how deep it is.

use candor::prelude::*;
use candor::resource::{Contents, Listing, Offers, Page, Resources};

const CHILDREN: Offers =
    Offers { children: true, watching: false, changes: false, completion: false };

/// Two rooms with a door between them: each is a child of the other.
pub(crate) struct Maze;

impl Maze {
    fn room(uri: &str) -> Option<Resource> {
        let name = match uri {
            "maze:///" => "entrance",
            "maze:///left" => "left",
            "maze:///right" => "right",
            _ => return None,
        };
        Some(Resource::new(uri, name).listable())
    }
}

impl Resources for Maze {
    fn prefix(&self) -> &str {
        "maze:"
    }

    fn offers(&self) -> Offers {
        CHILDREN
    }

    async fn metadata(&self, uri: &str, _: &Principal) -> Result<Option<Resource>, ToolError> {
        Ok(Self::room(uri))
    }

    async fn list(&self, _: Page<'_>, _: &Principal) -> Result<Listing, ToolError> {
        Ok(Listing::whole(Self::room("maze:///").into_iter().collect()))
    }

    async fn children(
        &self,
        uri: &str,
        _: Page<'_>,
        _: &Principal,
    ) -> Result<Option<Listing>, ToolError> {
        let doors = match uri {
            "maze:///left" => "maze:///right",
            _ => "maze:///left",
        };
        Ok(Some(Listing::whole(Self::room(doors).into_iter().collect())))
    }

    async fn read(&self, uri: &str, _: Ctx) -> Result<Option<Contents>, ToolError> {
        Ok(Self::room(uri).map(|room| format!("You are {}.", room.name).into()))
    }
}

/// Every number has a million children, and so has each child.
pub(crate) struct Numbers;

const BRANCHES: u64 = 1_000_000;

impl Numbers {
    fn number(uri: &str) -> Option<Resource> {
        let path = uri.strip_prefix("numbers:///")?;
        let valid = |name: &str| name.parse().is_ok_and(|n: u64| n < BRANCHES);
        if !path.is_empty() && !path.split('/').all(valid) {
            return None;
        }
        let name = path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("numbers");
        Some(Resource::new(uri, name).of_type("text/plain").listable())
    }
}

impl Resources for Numbers {
    fn prefix(&self) -> &str {
        "numbers:"
    }

    fn offers(&self) -> Offers {
        CHILDREN
    }

    async fn metadata(&self, uri: &str, _: &Principal) -> Result<Option<Resource>, ToolError> {
        Ok(Self::number(uri))
    }

    async fn list(&self, _: Page<'_>, _: &Principal) -> Result<Listing, ToolError> {
        Ok(Listing::whole(Self::number("numbers:///").into_iter().collect()))
    }

    async fn children(
        &self,
        uri: &str,
        page: Page<'_>,
        _: &Principal,
    ) -> Result<Option<Listing>, ToolError> {
        let start: u64 = page.after.and_then(|after| after.parse().ok()).unwrap_or(0);
        let end = start.saturating_add(page.limit as u64).min(BRANCHES);
        let stem = uri.trim_end_matches('/');
        let stem = if stem == "numbers:" { "numbers:///".to_owned() } else { format!("{stem}/") };
        let resources = (start..end).filter_map(|n| Self::number(&format!("{stem}{n}"))).collect();
        Ok(Some(Listing { resources, next: (end < BRANCHES).then(|| end.to_string()) }))
    }

    async fn read(&self, uri: &str, _: Ctx) -> Result<Option<Contents>, ToolError> {
        Ok(Self::number(uri).map(|number| number.name.into()))
    }
}

//! Detects whether a server honors `uri` in `resources/list`.
//!
//! A server from before that parameter ignores it and sends its default list, which is not a list of children. No capability tells
//! the two apart, so the client compares the answers:
//!
//! | children | default list | the server |
//! |---|---|---|
//! | none | any | undecided: the list of children is empty either way |
//! | some | none, an error, or another list | honors `uri`: otherwise it would have sent the default list |
//! | some | the same | undecided: a root may contain exactly what the server lists by default |
//!
//! In the last case, the client asks about a resource that cannot exist. A server that honors `uri` returns an error or an empty
//! list. Only a server that ignores it sends the default list again. Pages may be empty, so the client compares the first page that
//! is not. It ignores the order, because some servers have none.

use candor_protocol::json::Object;
use candor_protocol::names::method;
use candor_protocol::rpc::code;
use candor_protocol::types::Resource;

use crate::call::Key;
use crate::client::Client;
use crate::error::Error;
use crate::lists::Pages;
use crate::resources::about;

impl Client {
    /// Returns false if the server ignores `uri`, so that a list of children is only its default list. `listed` begins with the
    /// first page that is not empty.
    pub(crate) async fn is_scoped(&self, listed: &[Resource]) -> Result<bool, Error> {
        let session = self.session().await?;
        if let Some(scopes) = session.scopes_lists() {
            return Ok(scopes);
        }
        if listed.is_empty() {
            return Ok(true);
        }
        let scopes = match self.entries_for(Object::new()).await? {
            Some(default) if !default.is_empty() && begins_with(listed, &default) => {
                let nowhere = about(&format!("urn:candor:no-such-resource:{}", Key::new()));
                let answer = self.entries_for(nowhere).await?;
                answer.is_none_or(|answer| uris(&answer) != uris(&default))
            }
            _ => true,
        };
        if !scopes {
            tracing::warn!(
                "the server ignores `uri` in resources/list: its children cannot be listed that way"
            );
        }
        session.note_scoping(scopes);
        Ok(scopes)
    }

    /// Returns the first entries of `resources/list`, or `None` if the server refuses the request.
    async fn entries_for(&self, params: Object) -> Result<Option<Vec<Resource>>, Error> {
        match self.first_entries(method::RESOURCES_LIST, params).await {
            Ok(listed) => Ok(Some(listed)),
            Err(Error::Server(error)) if error.code() != code::BUSY => Ok(None),
            Err(Error::Http { status: 400..=499, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the first page of a list that is not empty.
    pub(crate) async fn first_entries(
        &self,
        method: &'static str,
        params: Object,
    ) -> Result<Vec<Resource>, Error> {
        let mut pages = Pages::new(method, "resources", params);
        while let Some(page) = self.next_page(&mut pages).await? {
            let entries = page.read::<Resource>("resources")?;
            if !entries.is_empty() {
                return Ok(entries);
            }
        }
        Ok(Vec::new())
    }
}

fn begins_with(listed: &[Resource], default: &[Resource]) -> bool {
    listed.get(..default.len()).is_some_and(|first| uris(first) == uris(default))
}

fn uris(resources: &[Resource]) -> Vec<&str> {
    let mut uris: Vec<_> = resources.iter().map(|resource| resource.uri.as_str()).collect();
    uris.sort_unstable();
    uris
}

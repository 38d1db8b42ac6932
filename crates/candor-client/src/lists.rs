//! Reads lists page by page, up to their end or the client's limits.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use candor_protocol::Era;
use candor_protocol::json::{Decode, Json, Object, RawValue, raw};
use candor_protocol::names::method;
use sha2::{Digest as _, Sha256};

use crate::cache::{CacheKey, Hint};
use crate::client::Client;
use crate::cost::cost;
use crate::error::Error;
use crate::members::members_of;
use crate::session::OutgoingRequest;

/// A position in a list.
#[derive(Debug)]
pub(crate) struct Pages {
    method: &'static str,
    member: &'static str,
    params: Object,
    next: NextPage,
    /// Digests of the cursors, because a server may send cursors of any length.
    seen: HashSet<[u8; 32]>,
    read: usize,
}

#[derive(Debug)]
enum NextPage {
    Begin,
    At(String),
    End,
}

impl Pages {
    pub(crate) fn new(method: &'static str, member: &'static str, params: Object) -> Self {
        Self { method, member, params, next: NextPage::Begin, seen: HashSet::new(), read: 0 }
    }

    pub(crate) fn method(&self) -> &'static str {
        self.method
    }

    fn is_at_end(&self) -> bool {
        matches!(self.next, NextPage::End)
    }
}

/// A page of a list.
pub(crate) struct Page {
    answer: Arc<RawValue>,
    entries: usize,
    lasts: Duration,
    /// The approximate memory of its entries once they are read, in bytes.
    pub(crate) cost: usize,
}

impl Page {
    /// Returns the entries as JSON text.
    pub(crate) fn entries(&self, member: &'static str) -> Result<Vec<Json<'_>>, Error> {
        let mut all = Vec::new();
        for (name, value) in Json::from(&*self.answer).entries() {
            if name == member {
                let items = value.items();
                all.extend(items.map_err(|p| Error::protocol(format!("{member}: {p}")))?);
            }
        }
        Ok(all)
    }

    /// Returns the entries as values. Skips and logs an unreadable entry.
    pub(crate) fn read<T: Decode>(&self, member: &'static str) -> Result<Vec<T>, Error> {
        let entries = self.entries(member)?.into_iter();
        Ok(entries
            .filter_map(|entry| {
                T::decode(entry)
                    .inspect_err(|problem| {
                        tracing::warn!(list = member, %problem, "an entry that cannot be read");
                    })
                    .ok()
            })
            .collect())
    }
}

impl Client {
    /// Returns a whole list. Fails if it takes more memory than the limit.
    pub(crate) async fn list<T: Decode + Send>(
        &self,
        method: &'static str,
        member: &'static str,
        params: &Object,
    ) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        let read = |page: &Page| page.read(member).map(|entries| all.extend(entries));
        self.each_page(method, member, params, read).await?;
        Ok(all)
    }

    /// Reads a list page by page, so that at most one page is in memory as received. Returns how long the list may be cached: the
    /// shortest time of its pages, or zero if a page has none. Fails with [`Error::Endless`] if the server repeats a cursor or
    /// exceeds the limits on pages and entries.
    pub(crate) async fn each_page(
        &self,
        method: &'static str,
        member: &'static str,
        params: &Object,
        mut take: impl FnMut(&Page) -> Result<(), Error> + Send,
    ) -> Result<Duration, Error> {
        let limits = self.limits();
        let after = limits.answer_at_most.max(limits.answer);
        let read = async {
            let mut lasts = Duration::MAX;
            let mut pages = Pages::new(method, member, params.clone());
            let (mut count, mut bytes) = (0, 0_usize);
            while let Some(page) = self.next_page(&mut pages).await? {
                lasts = lasts.min(page.lasts);
                count += page.entries;
                bytes = bytes.saturating_add(page.cost);
                if bytes > limits.max_list {
                    return Err(Error::list_too_large(member, limits.max_list));
                }
                take(&page)?;
                if count >= limits.max_entries && !pages.is_at_end() {
                    return Err(Error::Endless { list: member, read: count });
                }
            }
            Ok(lasts)
        };
        tokio::time::timeout(after, read).await.map_err(|_| Error::TimedOut { after })?
    }

    /// Returns the next page of a list, or `None` after the last.
    pub(crate) async fn next_page(&self, pages: &mut Pages) -> Result<Option<Page>, Error> {
        let Pages { method, member, .. } = *pages;
        let mut params = pages.params.clone();
        match &pages.next {
            NextPage::Begin => {}
            NextPage::At(cursor) => params.set("cursor", raw(cursor)),
            NextPage::End => return Ok(None),
        }
        let (answer, hint) = self.kept_or_asked(method, params).await?;
        let cost = cost(answer.get().as_bytes());
        if cost > self.limits().max_list {
            return Err(Error::list_too_large(member, self.limits().max_list));
        }
        let members = members_of(&answer).map_err(Error::protocol)?;
        let entries = members
            .get(member)
            .ok_or_else(|| Error::protocol(format!("the answer to {method} has no {member:?}")))?;
        let entries = entries.items().map_err(|p| Error::protocol(format!("{member}: {p}")))?.len();
        pages.read += entries;
        pages.next = match members.get("nextCursor").filter(|cursor| !cursor.is_null()) {
            None => NextPage::End,
            Some(cursor) => {
                let cursor = String::decode(cursor).map_err(Error::protocol)?;
                let again = !pages.seen.insert(Sha256::digest(&cursor).into());
                if again || pages.seen.len() >= self.limits().max_pages {
                    return Err(Error::Endless { list: member, read: pages.read });
                }
                NextPage::At(cursor)
            }
        };
        let lasts = hint.map_or(Duration::ZERO, |hint| hint.lasts);
        Ok(Some(Page { answer, entries, lasts, cost }))
    }

    /// Returns a cached answer that is still fresh, or a new one.
    pub(crate) async fn kept_or_asked(
        &self,
        method: &'static str,
        params: Object,
    ) -> Result<(Arc<RawValue>, Option<Hint>), Error> {
        let modern = self.session().await?.era() == Era::Modern;
        let place = modern.then(|| CacheKey {
            server: self.server_name(),
            principal: Some(self.principal()),
            method,
            params: raw(&params).get().to_owned(),
        });
        if let Some(kept) = place.as_ref().and_then(|place| self.cache().get(place)) {
            let hint = members_of(&kept).ok().and_then(|members| Hint::of(&members));
            return Ok((kept, hint));
        }
        let uri = params.read::<String>("uri").ok().flatten();
        let mut wish = OutgoingRequest::new(method, params);
        if method == method::RESOURCES_READ {
            wish.name = uri.as_deref();
        }
        let answer = self.ask_in_rounds(wish).await?;
        let hint = members_of(&answer.result).ok().and_then(|members| Hint::of(&members));
        // An answer that depends on a user's input must not be shared.
        let hint = hint.filter(|_| answer.rounds == 0);
        if let (Some(place), Some(hint)) = (place, hint) {
            self.cache().keep(place, &answer.result, hint);
        }
        Ok((Arc::from(answer.result), hint))
    }
}

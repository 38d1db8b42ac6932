//! Lists, page by page, up to their end or to ours.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use candor_protocol::Era;
use candor_protocol::json::{Decode, Json, Object, RawValue, raw};
use candor_protocol::names::method;

use crate::cache::{Hint, Place};
use crate::client::Client;
use crate::error::Error;
use crate::members::members_of;
use crate::session::Wish;

/// A place in a list.
#[derive(Debug)]
pub(crate) struct Pages {
    method: &'static str,
    member: &'static str,
    params: Object,
    next: Next,
    seen: HashSet<String>,
    read: usize,
}

#[derive(Debug)]
enum Next {
    Begin,
    At(String),
    End,
}

impl Pages {
    pub(crate) fn new(method: &'static str, member: &'static str, params: Object) -> Self {
        Self { method, member, params, next: Next::Begin, seen: HashSet::new(), read: 0 }
    }

    fn is_at_end(&self) -> bool {
        matches!(self.next, Next::End)
    }
}

/// A page of a list.
pub(crate) struct Page {
    answer: Arc<RawValue>,
    entries: usize,
    lasts: Duration,
}

impl Page {
    /// Its entries as values.
    pub(crate) fn read<T: Decode>(self, member: &'static str) -> Result<Vec<T>, Error> {
        Listed { pages: vec![self.answer], member, lasts: self.lasts }.read()
    }
}

/// Every entry of a list, each as its text, and for how long they may be kept.
pub(crate) struct Listed {
    pages: Vec<Arc<RawValue>>,
    member: &'static str,
    /// The shortest of what the pages say; zero if one says nothing.
    pub(crate) lasts: Duration,
}

impl Listed {
    pub(crate) fn entries(&self) -> Result<Vec<Json<'_>>, Error> {
        let mut all = Vec::new();
        for page in &self.pages {
            for (name, value) in Json::from(&**page).entries() {
                if name == self.member {
                    all.extend(value.items().map_err(|problem| {
                        Error::protocol(format!("{}: {problem}", self.member))
                    })?);
                }
            }
        }
        Ok(all)
    }

    /// The entries as values. One that cannot be read is left out, and the log says so.
    pub(crate) fn read<T: Decode>(&self) -> Result<Vec<T>, Error> {
        let entries = self.entries()?.into_iter();
        Ok(entries
            .filter_map(|entry| {
                T::decode(entry)
                    .inspect_err(|problem| {
                        tracing::warn!(list = self.member, %problem, "an entry that cannot be read");
                    })
                    .ok()
            })
            .collect())
    }
}

impl Client {
    /// A whole list. A server that gives one page twice, or never ends, is told from one with a long list.
    pub(crate) async fn list(
        &self,
        method: &'static str,
        member: &'static str,
        params: &Object,
    ) -> Result<Listed, Error> {
        let limits = self.limits();
        let mut listed = Listed { pages: Vec::new(), member, lasts: Duration::MAX };
        let mut pages = Pages::new(method, member, params.clone());
        let (mut count, mut bytes) = (0, 0);
        while let Some(page) = self.next_page(&mut pages).await? {
            listed.lasts = listed.lasts.min(page.lasts);
            count += page.entries;
            bytes += page.answer.get().len();
            listed.pages.push(page.answer);
            let most = count >= limits.max_entries || bytes >= limits.max_list;
            if most && !pages.is_at_end() {
                return Err(Error::Endless { list: member, read: count });
            }
        }
        Ok(listed)
    }

    /// The next page of a list; `None` after the last.
    pub(crate) async fn next_page(&self, pages: &mut Pages) -> Result<Option<Page>, Error> {
        let Pages { method, member, .. } = *pages;
        let mut params = pages.params.clone();
        match &pages.next {
            Next::Begin => {}
            Next::At(cursor) => params.set("cursor", raw(cursor)),
            Next::End => return Ok(None),
        }
        let (answer, hint) = self.kept_or_asked(method, params).await?;
        let members = members_of(&answer).map_err(Error::protocol)?;
        let entries = members
            .get(member)
            .ok_or_else(|| Error::protocol(format!("{method} is answered without {member:?}")))?;
        let entries = entries.items().map_err(|p| Error::protocol(format!("{member}: {p}")))?.len();
        pages.read += entries;
        pages.next = match members.get("nextCursor").filter(|cursor| !cursor.is_null()) {
            None => Next::End,
            Some(cursor) => {
                let cursor = String::decode(cursor).map_err(Error::protocol)?;
                let again = !pages.seen.insert(cursor.clone());
                if again || pages.seen.len() >= self.limits().max_pages {
                    return Err(Error::Endless { list: member, read: pages.read });
                }
                Next::At(cursor)
            }
        };
        let lasts = hint.map_or(Duration::ZERO, |hint| hint.lasts);
        Ok(Some(Page { answer, entries, lasts }))
    }

    /// An answer that is still good, or a new one.
    pub(crate) async fn kept_or_asked(
        &self,
        method: &'static str,
        params: Object,
    ) -> Result<(Arc<RawValue>, Option<Hint>), Error> {
        let modern = self.session().await?.era() == Era::Modern;
        let place = modern.then(|| Place {
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
        let mut wish = Wish::new(method, params);
        if method == method::RESOURCES_READ {
            wish.name = uri.as_deref();
        }
        let answer = self.ask_in_rounds(wish).await?;
        let hint = members_of(&answer.result).ok().and_then(|members| Hint::of(&members));
        // What depends on what somebody answered is nobody else's.
        let hint = hint.filter(|_| answer.rounds == 0);
        if let (Some(place), Some(hint)) = (place, hint) {
            self.cache().keep(place, &answer.result, hint);
        }
        Ok((Arc::from(answer.result), hint))
    }
}

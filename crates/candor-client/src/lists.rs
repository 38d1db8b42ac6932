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
use crate::host::members_of;
use crate::session::Wish;

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
        let mut seen: HashSet<String> = HashSet::new();
        let mut cursor: Option<String> = None;
        let mut count = 0;
        loop {
            let mut params = params.clone();
            if let Some(cursor) = &cursor {
                params.set("cursor", raw(cursor));
            }
            let (page, hint) = self.kept_or_asked(method, params).await?;
            let members = members_of(&page).map_err(Error::protocol)?;
            listed.lasts = listed.lasts.min(hint.map_or(Duration::ZERO, |hint| hint.lasts));
            let entries = members.get(member).ok_or_else(|| {
                Error::protocol(format!("{method} is answered without {member:?}"))
            })?;
            count += entries.items().map_err(|p| Error::protocol(format!("{member}: {p}")))?.len();
            let next: Option<String> = match members.get("nextCursor") {
                Some(json) if !json.is_null() => {
                    Some(String::decode(json).map_err(Error::protocol)?)
                }
                _ => None,
            };
            listed.pages.push(page);
            let Some(next) = next else { return Ok(listed) };
            let again = !seen.insert(next.clone());
            if again || listed.pages.len() >= limits.max_pages || count >= limits.max_entries {
                return Err(Error::Endless { list: member, read: count });
            }
            cursor = Some(next);
        }
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

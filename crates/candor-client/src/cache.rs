//! Caches answers for as long as the server allows, and only for the callers that it allows.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use candor_protocol::json::{Number, Object, RawValue};

use crate::members::locked;

/// The maximum number of entries. `MAX_SIZE` limits the bytes of one entry, `MAX_BYTES` those of all entries.
const MAX_ENTRIES: usize = 1000;
const MAX_SIZE: usize = 1024 * 1024;
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// The longest time that an answer is cached, even if the server allows more.
const LONGEST: Duration = Duration::from_secs(3600);

/// A cache of answers.
///
/// Each client has its own cache, and several clients may share one. A private answer is found only by clients with the same
/// credentials.
#[derive(Clone, Default)]
pub struct Cache(Arc<Mutex<HashMap<CacheKey, CacheEntry>>>);

/// The key of an answer in the cache.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey {
    pub(crate) server: Arc<str>,
    /// The principal that the answer is for. `None` if it is for all principals.
    pub(crate) principal: Option<[u8; 32]>,
    pub(crate) method: &'static str,
    /// The parameters that the answer depends on.
    pub(crate) params: String,
}

struct CacheEntry {
    answer: Arc<RawValue>,
    until: Instant,
}

/// What an answer says about caching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hint {
    pub(crate) lasts: Duration,
    pub(crate) public: bool,
}

impl Hint {
    /// Reads the hint of a result. Returns `None` if the result may not be cached.
    pub(crate) fn of(result: &Object) -> Option<Self> {
        let millis = result.read::<Number>("ttlMs").ok().flatten()?.as_u64()?;
        let lasts = Duration::from_millis(millis).min(LONGEST);
        let scope = result.read_str("cacheScope").ok().flatten();
        (!lasts.is_zero()).then_some(Self { lasts, public: scope.as_deref() == Some("public") })
    }
}

impl Cache {
    /// Creates an empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all answers.
    pub fn clear(&self) {
        locked(&self.0).clear();
    }

    pub(crate) fn get(&self, place: &CacheKey) -> Option<Arc<RawValue>> {
        let now = Instant::now();
        let kept = locked(&self.0);
        let found = |place: &CacheKey| {
            kept.get(place).filter(|kept| kept.until > now).map(|kept| kept.answer.clone())
        };
        found(place).or_else(|| found(&CacheKey { principal: None, ..place.clone() }))
    }

    pub(crate) fn keep(&self, mut place: CacheKey, answer: &RawValue, hint: Hint) {
        let size = |place: &CacheKey, answer: &RawValue| place.params.len() + answer.get().len();
        let own = size(&place, answer);
        if own > MAX_SIZE {
            return;
        }
        if hint.public {
            place.principal = None;
        }
        let now = Instant::now();
        let mut kept = locked(&self.0);
        let has_room = |kept: &HashMap<CacheKey, CacheEntry>| {
            let bytes = kept.iter().map(|(place, kept)| size(place, &kept.answer)).sum::<usize>();
            kept.len() < MAX_ENTRIES && bytes + own <= MAX_BYTES
        };
        if !has_room(&kept) {
            kept.retain(|_, kept| kept.until > now);
        }
        if has_room(&kept) {
            let answer: Arc<RawValue> = Arc::from(answer.to_owned());
            kept.insert(place, CacheEntry { answer, until: now + hint.lasts });
        }
    }

    /// Removes a server's answers to the methods for which `which` returns true.
    pub(crate) fn forget(&self, server: &str, which: impl Fn(&str) -> bool) {
        locked(&self.0).retain(|place, _| *place.server != *server || !which(place.method));
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("entries", &locked(&self.0).len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use candor_protocol::json::raw;

    use super::*;

    #[test]
    fn cache_size_is_limited_in_bytes() {
        let cache = Cache::new();
        let answer = raw(&"x".repeat(1_000_000));
        let hint = Hint { lasts: LONGEST, public: true };
        for n in 0..100 {
            let params = n.to_string();
            let place = CacheKey { server: "s".into(), principal: None, method: "m", params };
            cache.keep(place, &answer, hint);
        }
        assert_eq!(locked(&cache.0).len(), MAX_BYTES / 1_000_000);
    }
}

//! What a server allows to be kept, for as long as it says, and for whom it says.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use candor_protocol::json::{Number, Object, RawValue};

use crate::members::locked;

/// More is not kept.
const MAX_ENTRIES: usize = 1000;
const MAX_SIZE: usize = 1024 * 1024;
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// Whatever a server says, nothing is kept longer.
const LONGEST: Duration = Duration::from_secs(3600);

/// Answers that may be used again.
///
/// A client has one of its own; several may share one. What a server calls private is found only by clients with the same
/// credentials.
#[derive(Clone, Default)]
pub struct Cache(Arc<Mutex<HashMap<CacheKey, CacheEntry>>>);

/// Where an answer is found.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey {
    /// The server.
    pub(crate) server: Arc<str>,
    /// Whose it is; `None`: everybody's.
    pub(crate) principal: Option<[u8; 32]>,
    pub(crate) method: &'static str,
    /// The parameters that the answer depends on.
    pub(crate) params: String,
}

struct CacheEntry {
    answer: Arc<RawValue>,
    until: Instant,
}

/// What an answer says about being kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hint {
    pub(crate) lasts: Duration,
    pub(crate) public: bool,
}

impl Hint {
    /// What a result says; nothing if it may not be kept.
    pub(crate) fn of(result: &Object) -> Option<Self> {
        let millis = result.read::<Number>("ttlMs").ok().flatten()?.as_u64()?;
        let lasts = Duration::from_millis(millis).min(LONGEST);
        let scope = result.read_str("cacheScope").ok().flatten();
        (!lasts.is_zero()).then_some(Self { lasts, public: scope.as_deref() == Some("public") })
    }
}

impl Cache {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets everything.
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

    /// Forgets what a server has answered to these.
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
    fn kept_answers_are_bounded_in_bytes() {
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

//! Who has logged in with a browser.
//!
//! A token is exchanged for a cookie that no script can read and no other site can use. What the cookie stands for lives here, in
//! memory: it ends with the process, or when it was not used for long. Only hashes are kept.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use candor_server::protocol::Principal;
use sha2::{Digest as _, Sha256};

/// A session that nobody uses for this long is over.
const IDLE: Duration = Duration::from_secs(12 * 60 * 60);

/// More browsers than one person has. Of more, the one longest unused is forgotten.
const MOST: usize = 256;

/// 256 random bits as text.
pub(crate) fn random_token() -> String {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    BASE64.encode(bytes)
}

/// Tokens are long and random, so a plain hash is enough, and comparing hashes tells nothing by its timing.
pub(crate) fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Who a cookie stands for.
#[derive(Debug, Clone)]
pub(crate) struct LoggedIn {
    pub(crate) principal: Principal,
    pub(crate) operator: bool,
    /// What a request that changes something must bring besides the cookie.
    pub(crate) csrf: String,
}

#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<HashMap<[u8; 32], (LoggedIn, Instant)>>);

impl Sessions {
    /// Begins one; gives the value of its cookie.
    pub(crate) fn open(&self, principal: Principal, operator: bool) -> String {
        let cookie = random_token();
        let logged_in = LoggedIn { principal, operator, csrf: random_token() };
        let now = Instant::now();
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, (_, used)| now.duration_since(*used) < IDLE);
        if open.len() >= MOST
            && let Some(oldest) = open.iter().min_by_key(|(_, (_, used))| *used).map(|(id, _)| *id)
        {
            open.remove(&oldest);
        }
        open.insert(hash(&cookie), (logged_in, now));
        cookie
    }

    pub(crate) fn get(&self, cookie: &str) -> Option<LoggedIn> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (logged_in, used) = open.get_mut(&hash(cookie))?;
        if used.elapsed() >= IDLE {
            return None;
        }
        *used = Instant::now();
        Some(logged_in.clone())
    }

    pub(crate) fn close(&self, cookie: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&hash(cookie));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_stands_for_one_person_until_it_is_closed() {
        let sessions = Sessions::default();
        let cookie = sessions.open(Principal::new("olga"), true);
        let other = sessions.open(Principal::new("alice"), false);
        assert_eq!(sessions.get(&cookie).unwrap().principal.as_str(), "olga");
        assert!(!sessions.get(&other).unwrap().operator);
        assert!(sessions.get("made up").is_none());
        sessions.close(&cookie);
        assert!(sessions.get(&cookie).is_none() && sessions.get(&other).is_some());
        for _ in 0..2 * MOST {
            sessions.open(Principal::new("olga"), true);
        }
        assert_eq!(sessions.0.lock().unwrap().len(), MOST);
    }
}

//! Login sessions of browsers.
//!
//! A login exchanges a token for a cookie and a proof. The cookie identifies the caller. No script can read it, and no other site
//! can use it. But cookies ignore ports: a browser sends them to every server of a host, and such a server could act as the caller.
//! So the login also returns a proof, without which the console does not act. The proof is in no page and is sent once. Pages store
//! it where only their own origin can read it. Sessions live in memory. They end with the process, or when they are idle for too
//! long. Only hashes are stored.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use candor_server::auth::{Claims, Identity};
use candor_server::protocol::Principal;
use sha2::{Digest as _, Sha256};

/// The idle time after which a session ends.
const IDLE: Duration = Duration::from_secs(12 * 60 * 60);

/// Maximum number of sessions. At the limit, a login ends the least recently used session of the principal that has the most. So
/// one caller cannot log others out by logging in.
const MOST: usize = 256;

/// Returns 256 random bits as text.
pub(crate) fn random_token() -> String {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    BASE64.encode(bytes)
}

/// Hashes a token. Tokens are long and random, so a plain hash is enough, and comparing hashes reveals nothing by its timing.
pub(crate) fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// The identity behind a cookie.
#[derive(Debug, Clone)]
pub(crate) struct LoginSession {
    pub(crate) principal: Principal,
    pub(crate) claims: Claims,
    pub(crate) operator: bool,
    /// The hash of the proof, which a request must send besides the cookie unless it only reads pages.
    pub(crate) proof: [u8; 32],
}

/// The secrets that a browser receives at login, and never again.
#[derive(Debug)]
pub(crate) struct LoginTokens {
    pub(crate) cookie: String,
    pub(crate) proof: String,
}

#[derive(Debug, Default)]
pub(crate) struct LoginSessions(Mutex<HashMap<[u8; 32], (LoginSession, Instant)>>);

impl LoginSessions {
    /// Opens a session.
    pub(crate) fn open(&self, identity: impl Into<Identity>, operator: bool) -> LoginTokens {
        let Identity { principal, claims } = identity.into();
        let opened = LoginTokens { cookie: random_token(), proof: random_token() };
        let logged_in = LoginSession { principal, claims, operator, proof: hash(&opened.proof) };
        let now = Instant::now();
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, (_, used)| now.duration_since(*used) < IDLE);
        if open.len() >= MOST {
            let mut of: HashMap<Principal, usize> = HashMap::new();
            for (logged_in, _) in open.values() {
                *of.entry(logged_in.principal.clone()).or_default() += 1;
            }
            let most = of.values().max().copied();
            let theirs =
                open.iter().filter(|(_, (one, _))| of.get(&one.principal).copied() == most);
            let oldest = theirs.min_by_key(|(_, (_, used))| *used).map(|(id, _)| *id);
            oldest.and_then(|oldest| open.remove(&oldest));
        }
        open.insert(hash(&opened.cookie), (logged_in, now));
        opened
    }

    pub(crate) fn get(&self, cookie: &str) -> Option<LoginSession> {
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
    fn login_cookie_belongs_to_one_principal_until_logout() {
        let sessions = LoginSessions::default();
        let LoginTokens { cookie, proof } = sessions.open(Principal::new("olga"), true);
        let other = sessions.open(Principal::new("alice"), false).cookie;
        assert_eq!(sessions.get(&cookie).unwrap().proof, hash(&proof));
        assert_ne!(sessions.get(&other).unwrap().proof, hash(&proof));
        assert_eq!(sessions.get(&cookie).unwrap().principal.as_str(), "olga");
        assert!(!sessions.get(&other).unwrap().operator);
        assert!(sessions.get("made up").is_none());
        sessions.close(&cookie);
        assert!(sessions.get(&cookie).is_none() && sessions.get(&other).is_some());
        for _ in 0..2 * MOST {
            sessions.open(Principal::new("olga"), true);
        }
        assert_eq!(sessions.0.lock().unwrap().len(), MOST);
        assert!(sessions.get(&other).is_some(), "who has one keeps it");
    }
}

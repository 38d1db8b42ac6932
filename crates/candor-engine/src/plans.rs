//! Plan tokens: the proof that a caller saw a preview.
//!
//! A preview's result carries a token that is sealed for the caller, the current tool definition and the arguments. The token
//! proves that the caller saw the preview, not that the state is unchanged. The author's state digest proves that: the server
//! computes it again just before the start.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use candor_protocol::Principal;
use candor_protocol::names::extension;
use candor_protocol::time::rfc3339;
use candor_protocol::types::{CallToolResult, Content};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::error::Refusal;
use crate::record::EvaluatedCall;
use crate::seal::Seal;
use crate::tool::{Arguments, PLAN_ARGUMENT, RegisteredTool};

/// Maximum length of a token. The server's own tokens are shorter.
const LONGEST: usize = 512;

/// Makes and opens the plan tokens of one server.
pub(crate) struct Plans {
    seal: Seal,
    /// Servers that share a secret do not accept each other's plans.
    server: String,
    instance: String,
}

/// A digest of 32 bytes.
pub(crate) type Digest = [u8; 32];

/// The digest of the state that a preview read, made with a secret, so that it cannot be used to test values.
pub(crate) type StateDigest = Option<Digest>;

/// Signs the results of a preview.
pub(crate) struct Signer {
    seal: Seal,
    bound: Digest,
    time: Duration,
    /// The tool that requires the token as an argument, if it does.
    wanted_by: Option<String>,
}

impl Signer {
    /// Adds the token to a result.
    pub(crate) fn sign(&self, result: &mut CallToolResult, world: Option<&str>) {
        let expires = SystemTime::now() + self.time;
        let since = expires.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut payload =
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX).to_be_bytes().to_vec();
        payload.extend(self.bound);
        payload.extend(world.map(|world| self.seal.digest(world.as_bytes())).iter().flatten());
        let token = self.seal.close(&payload);
        if let Some(tool) = &self.wanted_by {
            let minutes = self.time.as_secs().div_ceil(60);
            let text = format!(
                "To carry this out, call {tool} with the same arguments and {PLAN_ARGUMENT} \"{token}\" within {minutes} min."
            );
            result.content.push(Content::text(text));
        }
        let said = json!({"token": token, "expiresAt": rfc3339(expires)});
        let meta = result.meta.take().unwrap_or_default();
        result.meta = Some(meta.with(extension::PLAN, &said));
    }
}

impl Plans {
    pub(crate) fn new(seal: Seal, server: &str, instance: &str) -> Self {
        Self { seal, server: server.to_owned(), instance: instance.to_owned() }
    }

    /// Returns a signer for the results of this tool's preview with these arguments.
    pub(crate) fn signer(
        &self,
        tool: &RegisteredTool,
        principal: &Principal,
        arguments: &Arguments,
        time: Duration,
    ) -> Signer {
        Signer {
            seal: self.seal.clone(),
            bound: self.bound(tool, principal, arguments),
            time,
            wanted_by: tool.safeguards.requires_preview.then(|| tool.name().to_owned()),
        }
    }

    /// Checks that the caller previewed the call, if its tool requires that. Returns the state that the preview saw.
    pub(crate) fn check(
        &self,
        call: &EvaluatedCall<'_>,
        preview: Option<&RegisteredTool>,
        token: Option<&str>,
    ) -> Result<StateDigest, Refusal> {
        let Some(preview) = preview.filter(|_| !call.hints.is_read_only()) else {
            return Ok(None);
        };
        let (preview, arguments) = (preview.name().to_owned(), call.arguments.as_value().clone());
        let Some(token) = token else {
            if !call.entry.safeguards.requires_preview {
                return Ok(None);
            }
            let tool = call.entry.name().to_owned();
            return Err(Refusal::PreviewRequired { tool, preview, arguments });
        };
        let bound = self.bound(call.entry, &call.request.caller.principal, call.arguments);
        self.open(token, bound).ok_or(Refusal::PlanInvalid { preview, arguments })
    }

    /// Returns the digest of a state that a preview reports.
    pub(crate) fn state(&self, reported: &str) -> Digest {
        self.seal.digest(reported.as_bytes())
    }

    fn open(&self, token: &str, bound: Digest) -> Option<StateDigest> {
        let payload = self.seal.open(Some(token).filter(|token| token.len() <= LONGEST)?)?;
        let (expires, rest) = payload.split_first_chunk()?;
        let (made_for, world) = rest.split_first_chunk::<32>()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        if u128::from(u64::from_be_bytes(*expires)) <= now.as_millis() || *made_for != bound {
            return None;
        }
        match world.len() {
            0 => Some(None),
            _ => world.try_into().ok().map(Some),
        }
    }

    /// Returns a digest of everything that a plan is bound to. Each part follows its length, so that two parts cannot run into each
    /// other.
    fn bound(&self, tool: &RegisteredTool, principal: &Principal, arguments: &Arguments) -> Digest {
        let arguments = candor_schema::canonical(tool.without_key(arguments).as_value());
        let mut hash = Sha256::new();
        for part in [
            self.server.as_bytes(),
            self.instance.as_bytes(),
            principal.as_str().as_bytes(),
            tool.name().as_bytes(),
            arguments.as_bytes(),
            tool.digest(),
        ] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }
}

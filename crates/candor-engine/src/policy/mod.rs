//! The policy: which calls run, which need approval, which are denied.
//!
//! - here: [`Policy`], for policies that see caller, arguments and time, and its composition with the built-in rules.
//! - `levels`: the built-in rules.

mod levels;

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, SystemTime};

use candor_hints::{AskLevel, EffectiveHints, Hints, Verdict};
use candor_protocol::Principal;
use candor_protocol::types::Tool as Definition;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::caller::Caller;
use crate::tool::RegisteredTool;
use crate::trace;

pub(crate) use levels::{LevelRules, ToolRule};

/// A policy of your own. It sees who calls what with which arguments, the effect of the call, and the time.
///
/// The server asks every policy, and the strictest verdict counts: deny, then ask, then allow. So a policy can only add caution to
/// the ask levels of server and tool. A policy that panics, or does not answer in time, denies the call with the code
/// `policy_unavailable`.
///
/// ```
/// use candor_server::policy::{Policy, PolicyQuery, Ruling};
/// use candor_server::{BoxFuture, Server};
///
/// /// On weekends, a reviewer approves whatever changes data.
/// struct Weekends;
///
/// impl Policy for Weekends {
///     fn rule<'a>(&'a self, query: &'a PolicyQuery<'a>) -> BoxFuture<'a, Ruling> {
///         let days = query.now.duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs() / 86_400);
///         let weekend = matches!(days % 7, 2 | 3); // the first day of 1970 was a Thursday
///         let asks = weekend && !query.effect.hints.is_read_only();
///         Box::pin(async move { if asks { Ruling::ask("weekends/1") } else { Ruling::allow() } })
///     }
/// }
///
/// let server = Server::new("books", "1.0.0").policy(Weekends);
/// ```
pub trait Policy: Send + Sync + 'static {
    /// Returns the ruling on one call. It must not depend on anything else than the query and the policy's own state.
    fn rule<'a>(&'a self, query: &'a PolicyQuery<'a>) -> BoxFuture<'a, Ruling>;

    /// Returns the verdict on all calls of a tool, if it is the same for every caller, every call and at all times. Lists show only
    /// this.
    fn of_tool(&self, _tool: &Definition) -> Option<Verdict> {
        None
    }

    /// Returns true if the policy may ask for approval. Then the server needs a ledger.
    fn may_ask(&self) -> bool {
        true
    }
}

/// A call that a policy decides about.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct PolicyQuery<'a> {
    /// Who calls.
    pub caller: &'a Caller,
    /// The tool.
    pub tool: &'a Definition,
    /// The arguments, without the key and the plan token.
    pub arguments: &'a Value,
    /// What the call may do.
    pub effect: EffectiveHints,
    /// The time of the request.
    pub now: SystemTime,
}

/// What a policy says about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ruling {
    /// The verdict.
    pub verdict: Verdict,
    /// The rule behind it. Approvals are bound to it, so a rule that changes needs another name.
    pub rule: RuleId,
    /// A reason for the caller, if the call is denied.
    pub reason: Option<String>,
}

impl Ruling {
    /// Lets the call run, as far as this policy is concerned.
    #[must_use]
    pub fn allow() -> Self {
        Self { verdict: Verdict::Allow, rule: RuleId::default(), reason: None }
    }

    /// Asks a reviewer first.
    #[must_use]
    pub fn ask(rule: impl Into<RuleId>) -> Self {
        Self { verdict: Verdict::Ask, rule: rule.into(), reason: None }
    }

    /// Denies the call.
    #[must_use]
    pub fn deny(rule: impl Into<RuleId>) -> Self {
        Self { verdict: Verdict::Deny, rule: rule.into(), reason: None }
    }

    /// Adds a reason for the caller.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

/// The name of a rule, with its version: `weekends/1`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct RuleId(String);

impl RuleId {
    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for RuleId {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl From<String> for RuleId {
    fn from(name: String) -> Self {
        Self(name)
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How long a policy may take for one call.
const PATIENCE: Duration = Duration::from_secs(5);

/// The policy of a server: its built-in rules, and the policies that were added to it.
pub(crate) struct ServerPolicy {
    pub(crate) levels: LevelRules,
    pub(crate) added: Vec<Box<dyn Policy>>,
    /// Only operators can review; the caller's own client cannot.
    pub(crate) operators_only: bool,
    /// How long the server holds a call that waits for approval.
    pub(crate) hold: Duration,
}

impl Default for ServerPolicy {
    fn default() -> Self {
        Self {
            levels: LevelRules::default(),
            added: Vec::new(),
            operators_only: false,
            hold: Duration::from_secs(45),
        }
    }
}

/// What all policies together say about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CombinedRuling {
    pub(crate) verdict: Verdict,
    /// The rules of added policies that do not allow the call. Most calls have none.
    rules: Vec<RuleId>,
    /// The reason for the caller, if the call is denied.
    pub(crate) reason: Option<String>,
    /// A policy failed.
    pub(crate) failed: bool,
}

impl CombinedRuling {
    pub(crate) const fn of(verdict: Verdict) -> Self {
        Self { verdict, rules: Vec::new(), reason: None, failed: false }
    }

    /// Adds the ruling of another policy: the stricter one counts.
    fn add(&mut self, ruling: Ruling) {
        if ruling.verdict == Verdict::Allow {
            return;
        }
        if ruling.verdict > self.verdict {
            self.reason = ruling.reason;
        }
        self.verdict = self.verdict.max(ruling.verdict);
        self.rules.push(ruling.rule);
    }
}

impl ServerPolicy {
    /// Returns true if the caller's own client may be asked about its calls. The client of an anonymous caller may not: any program
    /// that reaches the port could call and approve the call itself.
    pub(crate) fn asks_client_of(&self, caller: &Principal) -> bool {
        !self.operators_only && !caller.is_anonymous()
    }

    /// Returns true if any rule can require approval.
    pub(crate) fn may_ask(&self) -> bool {
        self.levels.may_ask() || self.added.iter().any(|policy| policy.may_ask())
    }

    /// Returns the server's ask level.
    pub(crate) const fn ask_level(&self) -> AskLevel {
        self.levels.ask
    }

    /// Returns the verdict on calls of a tool with these hints that is the same for every caller and at all times.
    pub(crate) fn listed(&self, entry: &RegisteredTool, hints: Hints) -> Verdict {
        let of_levels = self.levels.verdict(entry, hints);
        let added = self.added.iter().filter_map(|policy| {
            std::panic::catch_unwind(AssertUnwindSafe(|| policy.of_tool(&entry.definition)))
                .unwrap_or(Some(Verdict::Deny))
        });
        added.fold(of_levels, Verdict::max)
    }

    /// Returns the ruling, if the built-in rules alone make it.
    pub(crate) fn built_in(&self, entry: &RegisteredTool, hints: Hints) -> Option<CombinedRuling> {
        let verdict = self.levels.verdict(entry, hints);
        let decides = self.added.is_empty() || verdict == Verdict::Deny;
        decides.then(|| CombinedRuling::of(verdict))
    }

    /// Returns the ruling of all policies. Boxed by its caller, because few servers have added policies.
    pub(crate) async fn rule(
        &self,
        entry: &RegisteredTool,
        hints: Hints,
        query: &PolicyQuery<'_>,
    ) -> CombinedRuling {
        let mut combined = CombinedRuling::of(self.levels.verdict(entry, hints));
        for policy in &self.added {
            let ruling = AssertUnwindSafe(async { policy.rule(query).await }).catch_unwind();
            let problem = match tokio::time::timeout(PATIENCE, ruling).await {
                Ok(Ok(ruling)) => {
                    combined.add(ruling);
                    continue;
                }
                Ok(Err(panic)) => format!("a policy panicked: {}", trace::panic_reason(&*panic)),
                Err(_) => "a policy took too long".to_owned(),
            };
            trace::note(&problem);
            let (tool, trace_id) = (entry.name(), trace::id());
            tracing::error!(tool, problem, trace_id, "a policy failed, so the call is denied");
            combined.failed = true;
            combined.verdict = Verdict::Deny;
        }
        combined
    }

    /// Returns a hash that tells this policy from others, as far as lists show it.
    pub(crate) fn id(&self) -> u64 {
        if self.added.is_empty() {
            return self.levels.id();
        }
        // Other servers have other policies, and no list of theirs may be taken for one of this server.
        u64::from_be_bytes(crate::seal::random_bytes())
    }

    /// Returns what an approval is bound to, besides the call itself: the tool's definition, the rules that asked, who may review,
    /// and the state that a preview saw. A grant made from it is bound to the same, except for the state.
    pub(crate) fn binding(
        &self,
        entry: &RegisteredTool,
        ruling: &CombinedRuling,
        state: Option<[u8; 32]>,
    ) -> candor_ledger::Binding {
        let mut hash = Sha256::new();
        hash.update(b"candor/approval/2");
        hash.update(entry.digest());
        hash.update(self.levels.rule(entry.name()));
        hash.update([u8::from(self.operators_only)]);
        for rule in &ruling.rules {
            hash.update((rule.0.len() as u64).to_be_bytes());
            hash.update(&rule.0);
        }
        candor_ledger::Binding::new(&hash.finalize().into(), state.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{JsonTool, ToolError};

    fn entry(ask: AskLevel) -> RegisteredTool {
        let tool = JsonTool::open("t", |_, _| async { Ok::<_, ToolError>("") });
        RegisteredTool::of(std::sync::Arc::new(tool.hints(Hints::READS).ask(ask))).unwrap()
    }

    fn levels(ask: AskLevel, rule: Option<ToolRule>) -> ServerPolicy {
        let by_tool = rule.map(|rule| ("t".to_owned(), rule)).into_iter().collect();
        ServerPolicy { levels: LevelRules { ask, by_tool }, ..ServerPolicy::default() }
    }

    /// A policy that always says the same, or fails.
    enum Constant {
        Says(Ruling),
        Panics,
        Hangs,
    }

    impl Policy for Constant {
        fn rule<'a>(&'a self, _: &'a PolicyQuery<'a>) -> BoxFuture<'a, Ruling> {
            Box::pin(async move {
                match self {
                    Self::Says(ruling) => ruling.clone(),
                    Self::Panics => panic!("no idea"),
                    Self::Hangs => std::future::pending().await,
                }
            })
        }
    }

    async fn ruling(policy: &ServerPolicy, hints: Hints) -> CombinedRuling {
        let (caller, entry) = (Caller::new(Principal::new("ada")), entry(AskLevel::Never));
        let query = PolicyQuery {
            caller: &caller,
            tool: &entry.definition,
            arguments: &Value::Null,
            effect: EffectiveHints::resolved(hints),
            now: SystemTime::now(),
        };
        policy.rule(&entry, hints, &query).await
    }

    #[test]
    fn policy_takes_the_stricter_of_author_and_server() {
        use AskLevel::{Always, Destructive, Never, Writes};
        for (of_author, of_server, rule, hints, expected) in [
            (Never, Never, None, Hints::DELETES, Verdict::Allow),
            (Never, Destructive, None, Hints::DELETES, Verdict::Ask),
            (Never, Destructive, None, Hints::ADDS, Verdict::Allow),
            (Always, Never, None, Hints::READS, Verdict::Ask),
            (Never, Always, Some(ToolRule::Ask(Never)), Hints::ADDS, Verdict::Allow),
            (Writes, Always, Some(ToolRule::Ask(Never)), Hints::ADDS, Verdict::Ask),
            (Always, Always, Some(ToolRule::Deny), Hints::READS, Verdict::Deny),
        ] {
            let policy = levels(of_server, rule);
            let verdict = policy.listed(&entry(of_author), hints);
            assert_eq!(verdict, expected, "{rule:?} {hints:?}");
            let built_in = policy.built_in(&entry(of_author), hints).unwrap();
            assert_eq!(built_in.verdict, expected);
        }
    }

    #[test]
    fn approval_binding_covers_rules_and_previewed_state() {
        let (tool, state) = (entry(AskLevel::Never), Some([7; 32]));
        let asks = CombinedRuling::of(Verdict::Ask);
        let mut by_rule = asks.clone();
        by_rule.add(Ruling::ask("weekends/1"));
        let mut by_other = asks.clone();
        by_other.add(Ruling::ask("weekends/2"));
        let writes = levels(AskLevel::Writes, None);
        let operators = ServerPolicy { operators_only: true, ..levels(AskLevel::Writes, None) };
        let all = [
            writes.binding(&tool, &asks, None),
            writes.binding(&tool, &asks, state),
            writes.binding(&tool, &by_rule, None),
            writes.binding(&tool, &by_other, None),
            levels(AskLevel::Always, None).binding(&tool, &asks, None),
            levels(AskLevel::Writes, Some(ToolRule::Deny)).binding(&tool, &asks, None),
            levels(AskLevel::Writes, Some(ToolRule::Ask(AskLevel::Never)))
                .binding(&tool, &asks, None),
            operators.binding(&tool, &asks, None),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "binding {at} equals an earlier one");
        }
        assert_eq!(writes.binding(&entry(AskLevel::Never), &asks, None), all[0]);
    }

    #[tokio::test(start_paused = true)]
    async fn strictest_policy_counts_and_a_failed_one_denies() {
        use Constant::{Hangs, Panics, Says};
        let says = |ruling: &Ruling| Says(ruling.clone());
        let (allow, ask) = (Ruling::allow(), Ruling::ask("a/1"));
        let deny = Ruling::deny("d/1").because("no");
        for (added, verdict, failed) in [
            (vec![says(&allow)], Verdict::Ask, false),
            (vec![says(&ask), says(&allow)], Verdict::Ask, false),
            (vec![says(&ask), says(&deny), says(&allow)], Verdict::Deny, false),
            (vec![says(&allow), Panics], Verdict::Deny, true),
            (vec![Hangs, says(&allow)], Verdict::Deny, true),
        ] {
            let mut policy = levels(AskLevel::Writes, None);
            policy.added = added.into_iter().map(|one| Box::new(one) as Box<dyn Policy>).collect();
            let ruling = ruling(&policy, Hints::DELETES).await;
            assert_eq!((ruling.verdict, ruling.failed), (verdict, failed));
            let denied = verdict == Verdict::Deny && !failed;
            assert_eq!(ruling.reason.as_deref(), denied.then_some("no"));
        }
    }
}

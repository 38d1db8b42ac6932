//! The laws of a ledger, for any store.
//!
//! Each law opens an empty ledger, lets callers, reviewers and operators act, and returns a [`Violation`] if the store does not
//! do what a ledger promises. Memory, SQLite and PostgreSQL pass the same laws. A store outside this repository proves itself in
//! the same way, without a copy of a rule: its tests depend on `candor-ledger` with the feature `laws`.
//!
//! ```
//! use std::sync::Arc;
//! use candor_ledger::{MemoryStore, Options, Store, StoreError, StoreFuture, laws};
//!
//! struct InMemory;
//!
//! impl laws::Ledgers for InMemory {
//!     fn open(&self, _name: &str, options: Options) -> StoreFuture<'_, Arc<dyn Store>> {
//!         Box::pin(async { Ok(Arc::new(MemoryStore::new(options)) as Arc<dyn Store>) })
//!     }
//!
//!     // Two stores in memory share nothing, so laws about several processes have nothing to prove.
//!     fn is_shared(&self) -> bool {
//!         false
//!     }
//! }
//!
//! // In a test crate, this makes one test of each law.
//! candor_ledger::law_tests!(|_law| Some(InMemory));
//!
//! // One law by its name, or all of them with `laws::check`.
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let law = laws::find("approval_is_used_once_and_the_start_names_its_reviewer").unwrap();
//! law.check(&InMemory).await.unwrap();
//! # });
//! ```
//!
//! [`fixture`] is for a store whose tables change: it fills a ledger, and checks with later code that all of it is still there.
//! [`processes`] kills processes that share a ledger.

#[macro_use]
mod ensure;
mod approvals;
mod calls;
mod case;
pub mod fixture;
mod grants;
mod history;
mod model;
#[doc(hidden)]
pub mod older;
#[cfg(unix)]
pub mod processes;
mod replicas;
mod reviews;
mod watching;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use self::case::Bench;
use self::ensure::{Checked, Observation};
use crate::store::{Options, Store, StoreFuture};

/// Opens the stores under test.
pub trait Ledgers {
    /// Opens the ledger of this name, and creates it if it is missing. Each law uses names of its own: letters, digits and `_`.
    fn open(&self, name: &str, options: Options) -> StoreFuture<'_, Arc<dyn Store>>;

    /// Returns true if two stores that are opened by the same name have the same ledger, as two processes have it.
    fn is_shared(&self) -> bool {
        true
    }

    /// Returns how many random sequences of events are tried. Each needs a ledger of its own.
    fn cases(&self) -> u32 {
        100
    }
}

/// A law that a store does not keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The name of the law.
    pub law: &'static str,
    /// What was seen, and where in this kit.
    pub seen: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the store breaks the law {}: {}", self.law, self.seen)
    }
}

impl std::error::Error for Violation {}

impl Violation {
    fn new(law: &'static str, seen: Observation) -> Self {
        Self { law, seen: seen.text() }
    }
}

type LawFuture<'a> = Pin<Box<dyn Future<Output = Checked> + 'a>>;

/// A law by its name.
#[derive(Clone, Copy)]
pub struct Law {
    name: &'static str,
    run: for<'a> fn(&'a Bench<'a>) -> LawFuture<'a>,
}

impl Law {
    /// Returns the name, which says what the law requires.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Checks whether the stores keep this law. Needs a tokio runtime with time.
    ///
    /// # Errors
    /// Returns what was seen, if they do not.
    pub async fn check(&self, ledgers: &dyn Ledgers) -> Result<(), Violation> {
        let bench = Bench { ledgers, law: self.name };
        (self.run)(&bench).await.map_err(|seen| Violation::new(self.name, seen))
    }
}

impl fmt::Debug for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Law").field(&self.name).finish()
    }
}

/// Returns all laws.
#[must_use]
pub fn all() -> &'static [Law] {
    ALL
}

/// Returns the law of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Law> {
    ALL.iter().find(|law| law.name == name)
}

/// Checks all laws, one after the other. Needs a tokio runtime with time.
///
/// # Errors
/// Returns the first law that the stores do not keep.
pub async fn check(ledgers: &dyn Ledgers) -> Result<(), Violation> {
    for law in ALL {
        law.check(ledgers).await?;
    }
    Ok(())
}

/// Checks one law in a runtime of its own, with all drivers that tokio was built with. [`law_tests!`](crate::law_tests) calls it.
///
/// # Panics
/// Panics with the [`Violation`], or if there is no law of this name.
pub fn test(name: &str, ledgers: &dyn Ledgers) {
    let law = find(name).unwrap_or_else(|| panic!("there is no law {name}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let checked = runtime.expect("a runtime").block_on(law.check(ledgers));
    if let Err(violation) = checked {
        panic!("{violation}");
    }
}

/// Declares the list of laws, and the macro that makes a test of each.
macro_rules! declare_laws {
    (($dollar:tt) $($module:ident: $($name:ident)+;)+) => {
        const ALL: &[Law] = &[
            $($(Law { name: stringify!($name), run: |bench| Box::pin($module::$name(bench)) },)+)+
        ];

        /// Makes one test of each law of [`laws`](crate::laws).
        ///
        /// The argument is a function. It takes the name of a law and returns `Some` of a new [`Ledgers`](crate::laws::Ledgers),
        /// or `None` to skip the test, because a server that the store needs is missing.
        #[macro_export]
        macro_rules! law_tests {
            ($dollar ledgers:expr) => {
                $($(
                    #[test]
                    fn $name() {
                        let ledgers = $dollar ledgers;
                        if let Some(ledgers) = ledgers(stringify!($name)) {
                            $dollar crate::laws::test(stringify!($name), &ledgers);
                        }
                    }
                )+)+
            };
        }
    };
}

declare_laws! {
    ($)
    calls:
        key_with_other_arguments_is_refused
        keys_are_separate_per_principal_tool_and_instance
        late_outcome_after_the_lease_is_accepted
        outcome_resolved_as_not_run_allows_one_more_start
        suspended_call_resumes_only_once
        outcome_is_replayed_then_expires_then_is_purged
        clock_set_back_does_not_revive_an_ended_claim
        oversized_outcome_is_omitted_without_an_error
        record_quota_of_one_principal_does_not_affect_others;
    approvals:
        approval_is_used_once_and_the_start_names_its_reviewer
        concurrent_asks_share_one_request_and_one_start
        review_of_an_outdated_request_is_refused
        approval_is_void_after_its_binding_changes
        second_review_names_the_first_reviewer
        denial_holds_until_it_expires
        unanswered_request_and_unused_approval_expire
        call_without_a_key_needs_a_new_approval_for_every_run
        denial_keeps_an_unknown_outcome_unknown
        call_that_needs_no_approval_starts_despite_a_pending_request
        request_above_the_size_limit_is_refused
        pending_requests_per_principal_are_limited
        pending_requests_are_listed_by_request_time
        pending_approvals_take_turns_between_principals
        review_wakes_the_waiting_caller;
    reviews:
        expired_denial_stays_in_history_but_refuses_nothing
        error_of_a_released_key_stays_until_the_next_start
        error_outlives_the_result_that_held_it
        error_message_is_cut_between_letters
        arguments_of_an_approved_call_expire_with_its_result
        arguments_of_a_denied_call_are_stored_for_the_retention
        arguments_of_an_unanswered_request_expire_with_the_request
        call_starts_without_arguments_beyond_the_quota;
    grants:
        grant_is_active_until_it_expires_or_is_revoked
        active_grants_per_tool_are_limited
        grant_revoked_by_another_process_is_not_found;
    history:
        history_is_filtered_paged_and_exported
        record_is_found_by_its_digest_prefix
        notes_become_audit_rows_in_order;
    watching:
        watcher_wakes_on_completion_but_not_on_heartbeats
        completion_wakes_a_watcher_in_the_same_process
        heartbeat_does_not_wake_a_watcher
        watcher_is_woken_by_another_process_and_by_the_lease;
    replicas:
        outcome_survives_a_restart
        filled_ledger_is_whole_after_reopening
        dropped_answer_does_not_drop_the_event
        concurrent_starts_start_one_call
        refused_event_does_not_affect_others_sent_with_it
        concurrent_sweeps_sweep_each_record_once
        transitions_of_a_purged_record_are_still_listed;
    model:
        random_events_keep_the_ledger_laws;
}

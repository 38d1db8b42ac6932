//! A store that uses only the public seam keeps all laws. With a fault, it breaks the law that is about this fault.

#![allow(missing_docs)]

mod faulty;
mod store;

use std::collections::{BTreeSet, HashMap};
use std::future::ready;
use std::sync::{Arc, Mutex};

use candor_ledger::laws::{self, Ledgers};
use candor_ledger::{Options, Store, StoreFuture};

use self::faulty::{Fault, FaultyStore};
use self::store::{OwnStore, Tables};

#[derive(Default)]
struct OwnLedgers {
    ledgers: Mutex<HashMap<String, Arc<Mutex<Tables>>>>,
    fault: Option<Fault>,
}

impl Ledgers for OwnLedgers {
    fn open(&self, name: &str, options: Options) -> StoreFuture<'_, Arc<dyn Store>> {
        let mut ledgers = self.ledgers.lock().unwrap();
        if self.fault == Some(Fault::ForgetsAtClose) {
            ledgers.clear();
        }
        let tables = Arc::clone(ledgers.entry(name.to_owned()).or_default());
        let store: Arc<dyn Store> = match self.fault {
            None => Arc::new(OwnStore::new(tables, options)),
            Some(fault) => Arc::new(FaultyStore::new(tables, options, fault)),
        };
        Box::pin(ready(Ok(store)))
    }
}

candor_ledger::law_tests!(|_| Some(OwnLedgers::default()));

/// Each fault, and laws that it breaks.
const BROKEN: &[(Fault, &[&str])] = &[
    (
        Fault::StartsTwice,
        &[
            "concurrent_starts_start_one_call",
            "random_events_keep_the_ledger_laws",
            "concurrent_asks_share_one_request_and_one_start",
        ],
    ),
    (
        Fault::ForgetsRows,
        &[
            "history_is_filtered_paged_and_exported",
            "transitions_of_a_purged_record_are_still_listed",
            "random_events_keep_the_ledger_laws",
        ],
    ),
    (
        Fault::LosesConsumption,
        &[
            "approval_is_used_once_and_the_start_names_its_reviewer",
            "call_without_a_key_needs_a_new_approval_for_every_run",
            "random_events_keep_the_ledger_laws",
        ],
    ),
    (
        Fault::ForgetsUsage,
        &[
            "record_quota_of_one_principal_does_not_affect_others",
            "oversized_outcome_is_omitted_without_an_error",
            "request_above_the_size_limit_is_refused",
            "call_starts_without_arguments_beyond_the_quota",
            "refused_event_does_not_affect_others_sent_with_it",
        ],
    ),
    (
        Fault::ForgetsRecords,
        &[
            "key_with_other_arguments_is_refused",
            "suspended_call_resumes_only_once",
            "outcome_resolved_as_not_run_allows_one_more_start",
        ],
    ),
    (Fault::IgnoresScopes, &["keys_are_separate_per_principal_tool_and_instance"]),
    (
        Fault::StopsTheClock,
        &[
            "late_outcome_after_the_lease_is_accepted",
            "outcome_is_replayed_then_expires_then_is_purged",
            "unanswered_request_and_unused_approval_expire",
            "denial_holds_until_it_expires",
            "arguments_of_an_approved_call_expire_with_its_result",
            "arguments_of_a_denied_call_are_stored_for_the_retention",
            "arguments_of_an_unanswered_request_expire_with_the_request",
        ],
    ),
    (Fault::ForgetsTheLastWrite, &["clock_set_back_does_not_revive_an_ended_claim"]),
    (
        Fault::CountsNothing,
        &["pending_requests_per_principal_are_limited", "active_grants_per_tool_are_limited"],
    ),
    (
        Fault::ListsWaitingBackwards,
        &[
            "pending_requests_are_listed_by_request_time",
            "pending_approvals_take_turns_between_principals",
        ],
    ),
    (
        Fault::NeverWakes,
        &[
            "completion_wakes_a_watcher_in_the_same_process",
            "review_wakes_the_waiting_caller",
            "watcher_is_woken_by_another_process_and_by_the_lease",
        ],
    ),
    (
        Fault::WakesAtOnce,
        &["heartbeat_does_not_wake_a_watcher", "watcher_wakes_on_completion_but_not_on_heartbeats"],
    ),
    (
        Fault::KeepsRevokedGrants,
        &[
            "grant_is_active_until_it_expires_or_is_revoked",
            "grant_revoked_by_another_process_is_not_found",
        ],
    ),
    (Fault::ForgetsArguments, &["arguments_of_an_approved_call_expire_with_its_result"]),
    (
        Fault::ForgetsErrors,
        &[
            "error_of_a_released_key_stays_until_the_next_start",
            "error_outlives_the_result_that_held_it",
            "error_message_is_cut_between_letters",
        ],
    ),
    (
        Fault::ForgetsAtClose,
        &["outcome_survives_a_restart", "filled_ledger_is_whole_after_reopening"],
    ),
    (Fault::DropsEvents, &["dropped_answer_does_not_drop_the_event"]),
    (Fault::MiscountsSweeps, &["concurrent_sweeps_sweep_each_record_once"]),
    (Fault::FindsNoPrefix, &["record_is_found_by_its_digest_prefix"]),
    (Fault::ReversesNotes, &["notes_become_audit_rows_in_order"]),
    (Fault::TakesAnyReview, &["review_of_an_outdated_request_is_refused"]),
    (Fault::ConfirmsAnyReview, &["second_review_names_the_first_reviewer"]),
    (Fault::IgnoresBindings, &["approval_is_void_after_its_binding_changes"]),
    (Fault::RetriesEverything, &["denial_keeps_an_unknown_outcome_unknown"]),
    (
        Fault::AlwaysDemandsApproval,
        &["call_that_needs_no_approval_starts_despite_a_pending_request"],
    ),
    (Fault::ForgetsDenials, &["expired_denial_stays_in_history_but_refuses_nothing"]),
];

#[tokio::test(flavor = "current_thread")]
async fn each_fault_breaks_the_laws_about_it() {
    for (fault, broken) in BROKEN {
        for name in *broken {
            let ledgers = OwnLedgers { fault: Some(*fault), ..OwnLedgers::default() };
            let law = laws::find(name).unwrap_or_else(|| panic!("there is no law {name}"));
            let violation = law.check(&ledgers).await;
            let violation = violation.expect_err(&format!("{fault:?} passes {name}"));
            assert_eq!(violation.law, *name);
            assert!(!violation.seen.is_empty());
            assert!(violation.to_string().contains(name), "{violation}");
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn fixture_check_finds_what_is_missing() {
    let (options, clock) = laws::fixture::options();
    let tables: Arc<Mutex<Tables>> = Arc::default();
    let store = OwnStore::new(Arc::clone(&tables), options);
    laws::fixture::fill(&store, &clock).await.unwrap();
    let filled = tables.lock().unwrap().clone();
    laws::fixture::check(&store, &clock).await.unwrap();
    let missing: [fn(&mut Tables); 3] = [
        |tables| drop(tables.records.drain().next()),
        |tables| drop(tables.rows.pop_first()),
        |tables| drop(tables.grants.pop_last()),
    ];
    for lose in missing {
        *tables.lock().unwrap() = filled.clone();
        lose(&mut tables.lock().unwrap());
        laws::fixture::check(&store, &clock).await.unwrap_err();
    }
}

#[test]
fn each_law_is_broken_by_a_fault() {
    let broken: BTreeSet<&str> = BROKEN.iter().flat_map(|(_, laws)| *laws).copied().collect();
    let all: BTreeSet<&str> = laws::all().iter().map(laws::Law::name).collect();
    assert_eq!(broken, all);
}

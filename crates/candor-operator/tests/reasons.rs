//! Reasons why a request of an operator fails, on a ledger in memory.

use candor_ledger::{
    ApprovalChannel, AuditContext, Binding, Event, Fingerprint, Key, MemoryStore, Options,
    RecordId, Resolution, Review, Scope, Store,
};
use candor_operator::{
    ApprovalRequest, OperatorError, decide, find_operation, find_request, resolve,
};

fn record(principal: &str, key: &str) -> RecordId {
    let scope = Scope {
        principal: principal.to_owned(),
        server: "shop".to_owned(),
        instance: String::new(),
        tool: "pay".to_owned(),
    };
    RecordId { scope, key: Key::new(key).unwrap() }
}

async fn ask(store: &dyn Store, id: &RecordId, binding: u8) {
    let event = Event::Ask {
        fingerprint: Fingerprint([7; 32]),
        binding: Binding([binding; 32]),
        asked: b"{}"[..].into(),
        idempotent: false,
        keyless: false,
    };
    store.apply(id, event, AuditContext::default()).await.unwrap();
}

async fn approve(
    store: &dyn Store,
    request: &ApprovalRequest,
    by: &str,
) -> Result<(), OperatorError> {
    decide(store, request, by, Review::Approve, "test").await
}

#[tokio::test]
async fn second_reviewer_learns_of_the_first() {
    let store = MemoryStore::new(Options::default());
    ask(&store, &record("ada", "order-17"), 1).await;
    let request = find_request(&store, "order-17").await.unwrap();
    approve(&store, &request, "olga").await.unwrap();
    let error = approve(&store, &request, "otto").await.unwrap_err();
    let OperatorError::AlreadyDecided { id, by, via, is_approval } = error else {
        panic!("{error:?}")
    };
    assert_eq!((id, by.as_str()), (request.short(), "olga"));
    assert!(via == ApprovalChannel::Operator && is_approval);
    let error = find_request(&store, "order-17").await.err().unwrap();
    let OperatorError::NotPending { state, .. } = error else { panic!("{error:?}") };
    assert_eq!(state, "Approved, not started");
}

#[tokio::test]
async fn changed_request_is_not_approved() {
    let store = MemoryStore::new(Options::default());
    ask(&store, &record("ada", "order-17"), 1).await;
    let request = find_request(&store, "order-17").await.unwrap();
    ask(&store, &record("ada", "order-17"), 2).await;
    let error = approve(&store, &request, "olga").await.unwrap_err();
    assert!(matches!(error, OperatorError::RequestChanged { .. }), "{error:?}");
}

#[tokio::test]
async fn name_of_two_operations_is_ambiguous() {
    let store = MemoryStore::new(Options::default());
    for principal in ["ada", "bob"] {
        ask(&store, &record(principal, "order-17"), 1).await;
    }
    let error = find_operation(&store, "order-17").await.err().unwrap();
    let OperatorError::Ambiguous { candidates, more, .. } = error else { panic!("{error:?}") };
    let mut callers: Vec<_> =
        candidates.iter().map(|candidate| candidate.principal.as_str()).collect();
    callers.sort_unstable();
    assert_eq!((callers, more), (vec!["ada", "bob"], false));
    for candidate in &candidates {
        let operation = find_operation(&store, &candidate.digits).await.unwrap();
        assert_eq!(operation.id.scope.principal, candidate.principal);
    }
    let error = find_operation(&store, "abc").await.err().unwrap();
    let OperatorError::UnknownOperation { least_digits, .. } = error else { panic!("{error:?}") };
    assert_eq!(least_digits, Some(4));
}

#[tokio::test]
async fn only_an_unknown_outcome_is_resolved() {
    let store = MemoryStore::new(Options::default());
    ask(&store, &record("ada", "order-17"), 1).await;
    let operation = find_operation(&store, "order-17").await.unwrap();
    let error = resolve(&store, &operation, "olga", Resolution::Abandon, "test").await.unwrap_err();
    let OperatorError::OperationChanged { state, .. } = error else { panic!("{error:?}") };
    assert_eq!(state, "Needs approval");
    let error = candor_operator::ensure_unknown(&operation).unwrap_err();
    assert_eq!(error.code(), "already_resolved");
}

//! Finds the operation that an operator names: by the first digits of its ID, or by its key.

use std::collections::BTreeMap;

use candor_ledger::{DigestPrefix, Export, Filter, Page, RecordDigest, RecordId, Store};

use crate::error::{CandidateOperation, OperatorError};
use crate::operation::OperationView;

/// Minimum digits of an ID: fewer are more likely a mistake.
const LEAST: usize = 4;

/// Minimum digits of an ID that are shown.
const SHOWN: usize = 8;

/// Maximum number of operations that an ambiguous name lists.
const MOST: usize = 20;

type OperationsByDigest = BTreeMap<RecordDigest, OperationView>;

/// Returns the operation that an operator names by the first digits of its ID, or by its key.
///
/// # Errors
/// No operation matches, or several do.
pub async fn find_operation(
    store: &dyn Store,
    wanted: &str,
) -> Result<OperationView, OperatorError> {
    let prefix = DigestPrefix::new(wanted).filter(|_| wanted.len() >= LEAST);
    let mut found = OperationsByDigest::new();
    let mut entries = Vec::new();
    if let Some(prefix) = prefix {
        entries.extend(store.find_by_prefix(prefix, MOST).await?);
    }
    let keyed = Filter { key: Some(wanted.to_owned()), ..Filter::default() };
    let page = Page { most: MOST, ..Page::default() };
    // A caller chooses its keys, and may choose the shown ID of another caller's operation. That ID still names that operation.
    if entries.is_empty() || wanted.len() < SHOWN {
        entries.extend(store.records(keyed.clone(), page).await?.items);
    }
    for entry in entries {
        found.insert(entry.id.digest(), OperationView::of(store, entry).await?);
    }
    if found.is_empty() {
        // Its record may be purged while its audit rows still exist.
        let filter = if prefix.is_some() { Filter::default() } else { keyed };
        let mut rows = Export::of(store, filter);
        while let Some(row) = rows.next().await? {
            let Some(id) = row.record() else { continue };
            let digest = id.digest();
            let meant = id.key.as_str() == wanted || prefix.is_some_and(|p| p.begins(&digest));
            if meant && found.len() < MOST && !found.contains_key(&digest) {
                let story = store.transitions(&id).await?;
                found.insert(digest, OperationView { id, record: None, since: None, story });
            }
        }
    }
    let several = found.len() > 1;
    match found.pop_first() {
        None => Err(unknown(wanted)),
        Some((_, operation)) if !several => Ok(operation),
        Some((digest, operation)) => {
            found.insert(digest, operation);
            Err(ambiguous(wanted, &found))
        }
    }
}

fn unknown(wanted: &str) -> OperatorError {
    let is_short = wanted.len() < LEAST && wanted.chars().all(|c| c.is_ascii_hexdigit());
    OperatorError::UnknownOperation {
        wanted: wanted.to_owned(),
        least_digits: is_short.then_some(LEAST),
    }
}

fn ambiguous(wanted: &str, found: &OperationsByDigest) -> OperatorError {
    let digits: Vec<String> = found.keys().map(RecordDigest::to_string).collect();
    // Enough digits to tell each ID from its neighbors.
    let shared = digits.windows(2).map(|pair| {
        let same = pair[0].bytes().zip(pair[1].bytes()).take_while(|(a, b)| a == b);
        same.count() + 1
    });
    let enough = shared.max().unwrap_or(0).max(SHOWN);
    let candidates = digits.iter().zip(found.values()).map(|(digits, operation)| {
        let RecordId { scope, key } = &operation.id;
        CandidateOperation {
            digits: digits[..enough].to_owned(),
            tool: scope.tool.clone(),
            key: key.as_str().to_owned(),
            principal: scope.principal.clone(),
            state: operation.state_word(),
        }
    });
    OperatorError::Ambiguous {
        wanted: wanted.to_owned(),
        candidates: candidates.collect(),
        more: found.len() >= MOST,
    }
}

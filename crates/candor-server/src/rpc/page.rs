//! Paged lists, with cursors that only this server can make.

use candor_engine::Seal;
use candor_protocol::rpc::ErrorObject;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use candor_engine::tool::PAGE_SIZE;

/// Returns where a page begins, from the cursor that the client sent.
pub(crate) fn start(seal: &Seal, list: &str, cursor: Option<&str>) -> Result<usize, ErrorObject> {
    let Some(cursor) = cursor else { return Ok(0) };
    seal.open(cursor)
        .and_then(|payload| String::from_utf8(payload).ok())
        .and_then(|payload| payload.strip_prefix(list)?.strip_prefix(':')?.parse().ok())
        .ok_or_else(|| {
            ErrorObject::invalid_params(format!(
                "Invalid cursor: it was not made by this server for {list}; list again from the beginning"
            ))
        })
}

/// Returns a cursor for a position in one list. It is invalid for other lists.
pub(crate) fn seal_position<T: Serialize>(seal: &Seal, list: &[&str], position: &T) -> String {
    let payload = serde_json::to_vec(&(list, position)).expect("positions are plain data");
    seal.close(&payload)
}

/// Returns the position in a cursor that [`seal_position`] made for this list.
pub(crate) fn position<T: DeserializeOwned>(seal: &Seal, list: &[&str], cursor: &str) -> Option<T> {
    let opened = seal.open(cursor);
    let read = opened.and_then(|p| serde_json::from_slice::<(Vec<String>, T)>(&p).ok());
    read.filter(|(made_for, _)| made_for == list).map(|(_, position)| position)
}

/// Returns the error for a cursor that was not made for the list.
pub(crate) fn invalid_cursor() -> ErrorObject {
    ErrorObject::invalid_params(
        "Invalid cursor: it was not made by this server for this list; list again from the beginning",
    )
}

/// Returns the cursor of the page that begins at `start`, if there is such a page.
pub(crate) fn next(seal: &Seal, list: &str, start: usize, total: usize) -> Option<String> {
    (start < total).then(|| seal.close(format!("{list}:{start}").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_engine::Secret;

    #[test]
    fn cursor_of_another_list_or_server_is_refused() {
        let seal = Secret::random().seal("cursor");
        let cursor = next(&seal, "tools/list", 1000, 1001).unwrap();
        assert_eq!(start(&seal, "tools/list", Some(&cursor)).unwrap(), 1000);
        assert!(start(&seal, "prompts/list", Some(&cursor)).is_err());
        assert!(start(&Secret::random().seal("cursor"), "tools/list", Some(&cursor)).is_err());
        assert!(start(&seal, "tools/list", Some("MTAwMA")).is_err());
        assert_eq!(next(&seal, "tools/list", 1000, 1000), None);
    }
}

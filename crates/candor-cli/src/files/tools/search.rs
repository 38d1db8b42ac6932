//! Finds files by name or by content: `search_files`.

use std::sync::LazyLock;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use candor::files::{Bounds, Glob, Query, RootedPath};
use candor::prelude::*;
use tokio::sync::Semaphore;

use super::{Folder, uri_if_needed};

/// The time limit of a search. A search that has not seen everything by then reports that.
const TIME: Duration = Duration::from_secs(20);

/// Slots for searches: twice the number of cores. All blocking work shares its threads, and one caller could take them all with
/// searches.
static PLACES: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(2 * available_parallelism().map_or(1, usize::from)));

/// What was found.
#[candor::args]
pub(super) struct SearchMatches {
    /// In order of their paths
    matches: Vec<MatchedLine>,
    /// False if the search ended before it had seen everything
    complete: bool,
}

/// A file, or a line in it.
#[candor::args]
pub(super) struct MatchedLine {
    /// From the root on
    path: String,
    /// file or folder
    kind: String,
    /// Counted from 1
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    /// The line, or the part of it around the text
    #[serde(skip_serializing_if = "Option::is_none")]
    excerpt: Option<String>,
    /// Where its path cannot be written as text: its resource
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
}

/// Find files by their names, lines by their text, or both, in a folder and all folders in it
#[tool(reads, closed_world)]
pub(super) async fn search_files(
    /// Where to search; the root if it is left out
    #[default(String::new())]
    path: String,
    /// Only names like this: `*.rs`, `report-202?.md`; with a slash, whole paths: `src/**/*.rs`
    #[optional]
    #[length(max = 1000)]
    name: Option<String>,
    /// Only lines that hold this text
    #[optional]
    #[length(min = 1, max = 1000)]
    text: Option<String>,
    /// Take capital and small letters for the same
    #[default(false)]
    ignore_case: bool,
    /// How many matches to give at most
    #[default(100)]
    #[range(min = 1, max = 1000)]
    limit: usize,
    folder: State<Folder>,
    ctx: Ctx,
) -> Result<SearchMatches, ToolError> {
    let name = name.as_deref().map(Glob::parse).transpose().map_err(|error| {
        ToolError::new(format!("Nothing was searched: {error}"))
            .code("bad_pattern")
            .field("/name", "is not a pattern")
    })?;
    if name.is_none() && text.is_none() {
        return Err(ToolError::new("Give a name, a text, or both to search for").code("no_query"));
    }
    // Searches wait in order of arrival.
    let turn = PLACES.acquire().await?;
    let bounds = Bounds {
        results: limit,
        file_bytes: folder.largest,
        deadline: Some(Instant::now() + TIME),
        ..Bounds::default()
    };
    let directory = folder.directory.clone();
    folder
        .run(move |root| {
            // Hold the slot until the search ends: a disconnect does not end it at once.
            let _turn = turn;
            let query = Query { name, text, ignore_case };
            let stop = || ctx.is_cancelled();
            let found = root.search(&RootedPath::parse(&path)?, &query, &bounds, &stop)?;
            let matches = found.matches.into_iter().map(|m| MatchedLine {
                uri: uri_if_needed(&directory, &m.entry.place),
                path: m.entry.place.to_string(),
                kind: m.entry.kind.as_str().to_owned(),
                line: m.line,
                excerpt: m.excerpt,
            });
            Ok(SearchMatches { matches: matches.collect(), complete: found.complete })
        })
        .await
}

#[cfg(test)]
mod tests {
    use candor::Server;
    use candor::files::Root;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn search_waits_for_a_free_slot() {
        let root = Root::open(env!("CARGO_MANIFEST_DIR")).unwrap();
        let directory = Directory::of(root.clone());
        let folder = Folder { root, directory, largest: 1000 };
        let client = Server::new("files", "1").state(folder).tools(tools![search_files]).test();
        let taken = PLACES.acquire_many(PLACES.available_permits().try_into().unwrap());
        let taken = taken.await.unwrap();
        let arguments = json!({"name": "Cargo.toml"});
        let mut search = std::pin::pin!(client.call("search_files", arguments));
        let early = tokio::time::timeout(Duration::from_millis(200), &mut search).await;
        assert!(early.is_err(), "the search did not wait");
        drop(taken);
        search.await;
    }
}

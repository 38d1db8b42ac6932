//! A set of tools: checked once, found by name, listed from JSON that is written once.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use candor_hints::EffectiveHints;
use candor_protocol::types::Tool as Definition;
use candor_schema::Invalid;

use super::arguments::Arguments;
use super::entry::RegisteredTool;
use super::publish::{ListedVerdict, ListingOptions};
use super::split::{Split, SplitTool};

/// Items per page. Many hosts never ask for a second page, so the first one holds the whole list of a typical server.
pub const PAGE_SIZE: usize = 1000;

/// Tools in the order in which they are listed.
#[derive(Default)]
pub struct ToolSet {
    entries: Vec<Arc<RegisteredTool>>,
    by_name: HashMap<String, usize>,
    /// The tool of each preview.
    previewed: HashMap<String, usize>,
    parts: OnceLock<Result<SplitTools, RegistrationError>>,
    /// The lists, each written on first use.
    lists: Mutex<HashMap<ListingOptions, Arc<WrittenList>>>,
}

/// The parts of all tools that can be split.
#[derive(Default)]
struct SplitTools {
    /// Each with the index of its tool.
    all: Vec<(usize, SplitTool)>,
    by_name: HashMap<String, usize>,
}

impl SplitTools {
    /// Returns the parts of one tool. `all` has them in the order of their tools.
    fn of(&self, whole: usize) -> &[(usize, SplitTool)] {
        let from = self.all.partition_point(|(at, _)| *at < whole);
        let to = self.all.partition_point(|(at, _)| *at <= whole);
        &self.all[from..to]
    }
}

/// A list as JSON.
struct WrittenList {
    pages: Vec<Bytes>,
    tools: usize,
}

/// A page of a list, and how many tools the list has.
#[derive(Debug, Clone)]
pub struct ToolPage {
    /// The items, as a JSON array.
    pub items: Bytes,
    /// The number of tools in the list.
    pub tools: usize,
}

/// The tool that a name refers to.
pub(crate) struct ResolvedTool<'a> {
    pub(crate) entry: &'a Arc<RegisteredTool>,
    /// The tool that shows what a call would do, if there is one.
    pub(crate) preview: Option<&'a Arc<RegisteredTool>>,
    /// The tool whose calls this one previews, if it does.
    pub(crate) previews: Option<&'a Arc<RegisteredTool>>,
    part: Option<&'a SplitTool>,
}

/// The reason why a tool cannot be registered. Its debug form is its message, for a `main` that returns it.
#[derive(Clone, PartialEq, Eq)]
pub struct RegistrationError {
    pub(super) tool: String,
    pub(super) problem: String,
}

impl RegistrationError {
    pub(super) fn of(tool: &str, problem: impl Into<String>) -> Self {
        Self { tool: tool.to_owned(), problem: problem.into() }
    }
}

impl fmt::Display for RegistrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tool {:?}: {}", self.tool, self.problem)
    }
}

impl fmt::Debug for RegistrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for RegistrationError {}

impl ToolSet {
    /// Creates an index of tools, no two of which have the same name.
    pub(super) fn of(entries: impl IntoIterator<Item = Arc<RegisteredTool>>) -> Self {
        let entries: Vec<_> = entries.into_iter().collect();
        let at = |(at, entry): (usize, &Arc<RegisteredTool>)| (entry.name().to_owned(), at);
        let by_name = entries.iter().enumerate().map(at).collect();
        let of =
            |(at, entry): (usize, &Arc<RegisteredTool>)| Some((entry.preview_name.clone()?, at));
        let previewed = entries.iter().enumerate().filter_map(of).collect();
        Self { entries, by_name, previewed, ..Self::default() }
    }

    /// Returns all tools.
    pub(super) fn entries(&self) -> &[Arc<RegisteredTool>] {
        &self.entries
    }

    /// Returns the whole tool of this name.
    pub(super) fn whole(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.by_name.get(name).map(|at| &self.entries[*at])
    }

    fn found<'a>(&'a self, at: usize, part: Option<&'a SplitTool>) -> ResolvedTool<'a> {
        let entry = &self.entries[at];
        ResolvedTool {
            entry,
            preview: entry.preview_name.as_deref().and_then(|name| self.whole(name)),
            previews: self.previewed.get(entry.name()).map(|of| &self.entries[*of]),
            part,
        }
    }

    /// Returns the number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there are no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the definitions of the whole tools, in order.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.entries.iter().map(|entry| &entry.definition)
    }

    /// Returns true if any tool is in a serial group.
    pub(crate) fn has_serial(&self) -> bool {
        self.entries.iter().any(|entry| entry.safeguards.serial.is_some())
    }

    /// Returns true if the effect of any tool depends on its arguments.
    pub(crate) fn has_dynamic_effects(&self) -> bool {
        self.entries.iter().any(|entry| entry.is_dynamic())
    }

    /// Checks that every schema of a type can be used.
    pub(crate) fn check_schemas(&self) -> Result<(), RegistrationError> {
        for entry in &self.entries {
            if let Some(problem) = entry.schema_problems.first() {
                let advice = format!("{problem}; fix the type, or remove `.strict()`");
                return Err(RegistrationError::of(entry.name(), advice));
            }
        }
        Ok(())
    }

    /// Checks that the tools can be listed in parts.
    pub(crate) fn check_split(&self) -> Result<(), RegistrationError> {
        self.parts().as_ref().map(|_| ()).map_err(Clone::clone)
    }

    fn parts(&self) -> &Result<SplitTools, RegistrationError> {
        self.parts.get_or_init(|| {
            let mut parts = SplitTools::default();
            for (whole, entry) in self.entries.iter().enumerate() {
                let tool = &entry.definition.name;
                let refuse = |problem| RegistrationError { tool: tool.clone(), problem };
                for part in entry.parts().map_err(refuse)? {
                    let name = part.definition.name.clone();
                    if self.by_name.contains_key(&name) || parts.by_name.contains_key(&name) {
                        let problem = format!("its part {name:?} has the name of another tool");
                        return Err(refuse(problem));
                    }
                    parts.by_name.insert(name, parts.all.len());
                    parts.all.push((whole, part));
                }
            }
            Ok(parts)
        })
    }

    /// Returns the parts, for servers that list them. Sets that cannot be split, which only a tool source can return, are listed
    /// whole.
    fn listed_parts(&self, form: ListingOptions) -> Option<&SplitTools> {
        form.split?;
        self.parts().as_ref().inspect_err(|error| tracing::error!(%error, "not split")).ok()
    }

    /// Returns the tool that a name refers to: a whole one, or a part.
    pub(crate) fn find(&self, name: &str, form: ListingOptions) -> Option<ResolvedTool<'_>> {
        if let Some(at) = self.by_name.get(name) {
            return Some(self.found(*at, None));
        }
        let parts = self.listed_parts(form)?;
        let (whole, part) = &parts.all[*parts.by_name.get(name)?];
        Some(self.found(*whole, Some(part)))
    }

    /// Returns the page that begins at `start`. Pages begin at multiples of the page size.
    pub(crate) fn page(
        &self,
        start: usize,
        form: ListingOptions,
        verdict: ListedVerdict<'_>,
    ) -> ToolPage {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let list = lists.entry(form).or_insert_with(|| Arc::new(self.list(form, verdict)));
        let page = start.is_multiple_of(PAGE_SIZE).then(|| list.pages.get(start / PAGE_SIZE));
        // The list may have become shorter since the cursor was made, and then it has no such page.
        let items = page.flatten().cloned().unwrap_or(Bytes::from_static(b"[]"));
        ToolPage { items, tools: list.tools }
    }

    fn list(&self, form: ListingOptions, verdict: ListedVerdict<'_>) -> WrittenList {
        let listed = self.published(form, verdict);
        let tools = listed.len();
        WrittenList {
            pages: listed.chunks(PAGE_SIZE).map(|page| write(&definitions(page))).collect(),
            tools,
        }
    }

    /// Returns the listed tools and parts, as published.
    pub(crate) fn published(
        &self,
        form: ListingOptions,
        verdict: ListedVerdict<'_>,
    ) -> Vec<Cow<'_, Definition>> {
        let parts = self.listed_parts(form);
        let mut listed: Vec<Cow<'_, Definition>> = Vec::new();
        for (at, entry) in self.entries.iter().enumerate() {
            let own = parts.map_or(&[][..], |parts| parts.of(at));
            let own: Vec<_> = own.iter().map(|(_, part)| form.part(part, entry, verdict)).collect();
            if own.is_empty() || form.split != Some(Split::Instead) {
                listed.push(form.whole(entry, verdict));
            }
            listed.extend(own);
        }
        listed
    }
}

/// Encodes a list as JSON.
fn write(definitions: &[&Definition]) -> Bytes {
    // 384 bytes is about the size of an item. A buffer that grows would copy its content again and again.
    let mut text = Vec::with_capacity(definitions.len() * 384);
    serde_json::to_writer(&mut text, definitions).expect("definitions are plain data");
    text.into()
}

fn definitions<'a>(page: &'a [Cow<'_, Definition>]) -> Vec<&'a Definition> {
    page.iter().map(AsRef::as_ref).collect()
}

impl<'a> ResolvedTool<'a> {
    /// Returns the definition as published.
    pub(crate) fn published(
        &self,
        form: ListingOptions,
        verdict: ListedVerdict<'_>,
    ) -> Cow<'a, Definition> {
        match self.part {
            None => form.whole(self.entry, verdict),
            Some(part) => form.part(part, self.entry, verdict),
        }
    }

    /// Returns the worst case of all its calls.
    pub(crate) fn worst(&self) -> EffectiveHints {
        match self.part {
            None => self.entry.worst(),
            Some(part) => part.hints.declared().effective(),
        }
    }

    /// Returns the arguments of the whole tool, from those that were sent.
    pub(crate) fn complete(&self, arguments: Arguments) -> Result<Arguments, Invalid> {
        match self.part {
            None => Ok(arguments),
            Some(part) => part.complete(&arguments),
        }
    }

    /// Returns true if the effect depends on the arguments that the caller sends.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.entry.is_dynamic() && self.part.is_none_or(|part| part.varies)
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.definitions().map(|d| &d.name)).finish()
    }
}

//! A set of tools: checked once, found by name, listed from text that was written once.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use candor_hints::EffectiveHints;
use candor_protocol::Era;
use candor_protocol::types::Tool as Definition;
use candor_schema::Invalid;

use super::Tool;
use super::entry::RegisteredTool;
use super::gather::{Unusable, gather};
use super::publish::ListingOptions;
use super::split::{Split, SplitTool};
use crate::arguments::Arguments;
use crate::gate::Policy;
use crate::methods;
use crate::page::PAGE_SIZE;

/// Tools in the order in which they are listed.
#[derive(Default)]
pub struct ToolSet {
    entries: Vec<Arc<RegisteredTool>>,
    by_name: HashMap<String, usize>,
    /// The tool that each preview is of.
    previewed: HashMap<String, usize>,
    parts: OnceLock<Result<SplitTools, RegistrationError>>,
    /// The list, written when first asked for, for each era and form.
    lists: Mutex<HashMap<(Era, ListingOptions), Arc<WrittenList>>>,
}

/// The parts of all tools that can be split.
#[derive(Default)]
struct SplitTools {
    /// Each with the tool that it is a part of.
    all: Vec<(usize, SplitTool)>,
    by_name: HashMap<String, usize>,
}

impl SplitTools {
    /// The parts of one tool. They stand in the order of their tools.
    fn of(&self, whole: usize) -> &[(usize, SplitTool)] {
        let from = self.all.partition_point(|(at, _)| *at < whole);
        let to = self.all.partition_point(|(at, _)| *at <= whole);
        &self.all[from..to]
    }
}

/// A list as text.
struct WrittenList {
    pages: Vec<Bytes>,
    tools: usize,
}

/// A page of a list, and how many tools the list has.
pub(crate) struct ToolPage {
    pub(crate) items: Bytes,
    pub(crate) tools: usize,
}

/// What a name stands for.
pub(crate) struct ResolvedTool<'a> {
    pub(crate) entry: &'a Arc<RegisteredTool>,
    /// The tool that shows what a call would do, if there is one.
    pub(crate) preview: Option<&'a Arc<RegisteredTool>>,
    /// The tool whose calls this one previews, if it does.
    pub(crate) previews: Option<&'a Arc<RegisteredTool>>,
    part: Option<&'a SplitTool>,
}

/// Why a tool cannot be registered. Its debug form is its message, for a `main` that returns it.
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
    /// Checks and indexes tools. Fails for two tools of one name, for schemas of an author's own that cannot be honoured, and if a tool
    /// names another that is not there. A schema that a tool's types have and that cannot be used costs no more than itself: the tool
    /// is published with one that takes any object, its types check the arguments, and the log has the problem. Previews that are made with a tool stand right after it.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<Self, RegistrationError> {
        gather(tools, Unusable::Fails)
    }

    /// The same of tools that somebody else gives while the server runs. One that cannot be used costs the others nothing: it is
    /// listed with a schema that lets everything through, its calls are refused with the reason, and the log has it. It takes along
    /// those whose preview or undo it is, because a call that cannot be looked at, or taken back, is not the one that was promised.
    /// Where several have one name, nobody can say which is meant: the name is listed once, and its calls are refused.
    pub fn provided(
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<Self, RegistrationError> {
        gather(tools, Unusable::IsTold)
    }

    /// An index of tools, no two of which have the same name.
    pub(super) fn of(entries: impl IntoIterator<Item = Arc<RegisteredTool>>) -> Self {
        let entries: Vec<_> = entries.into_iter().collect();
        let at = |(at, entry): (usize, &Arc<RegisteredTool>)| (entry.name().to_owned(), at);
        let by_name = entries.iter().enumerate().map(at).collect();
        let of =
            |(at, entry): (usize, &Arc<RegisteredTool>)| Some((entry.preview_name.clone()?, at));
        let previewed = entries.iter().enumerate().filter_map(of).collect();
        Self { entries, by_name, previewed, ..Self::default() }
    }

    /// Every tool with what is known of it.
    pub(super) fn entries(&self) -> &[Arc<RegisteredTool>] {
        &self.entries
    }

    /// The whole tool of this name.
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

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The tools, whole, in their order.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.entries.iter().map(|entry| &entry.definition)
    }

    /// Returns true if any tool is in a serial group.
    pub(crate) fn has_serial(&self) -> bool {
        self.entries.iter().any(|entry| entry.safeguards.serial.is_some())
    }

    /// Whether the arguments of any tool make a difference to what it does.
    pub(crate) fn foresees(&self) -> bool {
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

    /// The parts, for servers that list them. Sets that cannot be split, which only a provider can give, are listed whole.
    fn listed_parts(&self, form: ListingOptions) -> Option<&SplitTools> {
        form.split?;
        self.parts().as_ref().inspect_err(|error| tracing::error!(%error, "not split")).ok()
    }

    /// The tool that a name stands for: a whole one, or a part.
    pub(crate) fn find(&self, name: &str, form: ListingOptions) -> Option<ResolvedTool<'_>> {
        if let Some(at) = self.by_name.get(name) {
            return Some(self.found(*at, None));
        }
        let parts = self.listed_parts(form)?;
        let (whole, part) = &parts.all[*parts.by_name.get(name)?];
        Some(self.found(*whole, Some(part)))
    }

    /// The page that begins at `start`. Pages begin at multiples of the page size.
    pub(crate) fn page(
        &self,
        start: usize,
        era: Era,
        form: ListingOptions,
        policy: &Policy,
    ) -> ToolPage {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let list =
            lists.entry((era, form)).or_insert_with(|| Arc::new(self.list(era, form, policy)));
        let page = start.is_multiple_of(PAGE_SIZE).then(|| list.pages.get(start / PAGE_SIZE));
        // A list that has shrunk since a cursor was made has no such page any more.
        let items = page.flatten().cloned().unwrap_or(Bytes::from_static(b"[]"));
        ToolPage { items, tools: list.tools }
    }

    fn list(&self, era: Era, form: ListingOptions, policy: &Policy) -> WrittenList {
        let listed = self.published(era, form, policy);
        let tools = listed.len();
        WrittenList {
            pages: listed
                .chunks(PAGE_SIZE)
                .map(|page| methods::write(&definitions(page)))
                .collect(),
            tools,
        }
    }

    /// The tools and parts of tools that are listed, as they are published.
    pub(crate) fn published(
        &self,
        era: Era,
        form: ListingOptions,
        policy: &Policy,
    ) -> Vec<Cow<'_, Definition>> {
        let parts = self.listed_parts(form);
        let mut listed: Vec<Cow<'_, Definition>> = Vec::new();
        for (at, entry) in self.entries.iter().enumerate() {
            let own = parts.map_or(&[][..], |parts| parts.of(at));
            let own: Vec<_> =
                own.iter().map(|(_, part)| form.part(part, entry, era, policy)).collect();
            if own.is_empty() || form.split != Some(Split::Instead) {
                listed.push(form.whole(entry, era, policy));
            }
            listed.extend(own);
        }
        listed
    }
}

fn definitions<'a>(page: &'a [Cow<'_, Definition>]) -> Vec<&'a Definition> {
    page.iter().map(AsRef::as_ref).collect()
}

impl<'a> ResolvedTool<'a> {
    /// As it is published.
    pub(crate) fn published(
        &self,
        era: Era,
        form: ListingOptions,
        policy: &Policy,
    ) -> Cow<'a, Definition> {
        match self.part {
            None => form.whole(self.entry, era, policy),
            Some(part) => form.part(part, self.entry, era, policy),
        }
    }

    /// What any call of it may do.
    pub(crate) fn worst(&self) -> EffectiveHints {
        match self.part {
            None => self.entry.worst(),
            Some(part) => part.hints.declared().effective(),
        }
    }

    /// The arguments of the whole tool, from those that were sent.
    pub(crate) fn complete(&self, arguments: Arguments) -> Result<Arguments, Invalid> {
        match self.part {
            None => Ok(arguments),
            Some(part) => part.complete(&arguments),
        }
    }

    /// Whether the arguments that are sent make a difference.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.entry.is_dynamic() && self.part.is_none_or(|part| part.varies)
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.definitions().map(|d| &d.name)).finish()
    }
}

//! Builds a set of tools: checks each tool by itself, then all of them together.
//!
//! In a list that its author can fix before the server starts, a faulty tool is an error. In a list from a tool source, only that
//! tool is refused, with the tools that cannot keep their promises without it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Tool;
use super::broken::Broken;
use super::entry::RegisteredTool;
use super::neighbors;
use super::safeguards::Preview;
use super::set::{RegistrationError, ToolSet};

/// What happens to a tool that cannot be used.
#[derive(Clone, Copy)]
enum Unusable {
    /// The set cannot be built.
    Fails,
    /// It is listed, and its calls are refused.
    IsTold,
}

/// A tool to register, with the preview that is made with it.
struct ToolCandidate {
    tool: Arc<dyn Tool>,
    entry: Arc<RegisteredTool>,
    preview: Option<Arc<RegisteredTool>>,
}

impl ToolCandidate {
    fn of(tool: Arc<dyn Tool>, unusable: Unusable) -> Result<Self, RegistrationError> {
        match checked(&tool) {
            Ok((entry, preview)) => {
                Ok(Self { tool, entry: Arc::new(entry), preview: preview.map(Arc::new) })
            }
            Err(problem) => Self::broken(tool, problem, unusable),
        }
    }

    /// Replaces a tool that cannot be used, or fails. The replacement has no preview: there is nothing to show.
    fn broken(
        tool: Arc<dyn Tool>,
        problem: String,
        unusable: Unusable,
    ) -> Result<Self, RegistrationError> {
        let refuse = |problem| RegistrationError::of(&tool.definition().name, problem);
        let entry = match unusable {
            Unusable::Fails => return Err(refuse(problem)),
            Unusable::IsTold => {
                let replacement = Broken::instead_of(&*tool, &problem);
                RegisteredTool::broken(Arc::new(replacement)).map_err(refuse)?
            }
        };
        Ok(Self { tool, entry: Arc::new(entry), preview: None })
    }

    fn entries(&self) -> impl Iterator<Item = &Arc<RegisteredTool>> {
        std::iter::once(&self.entry).chain(&self.preview)
    }
}

fn checked(tool: &Arc<dyn Tool>) -> Result<(RegisteredTool, Option<RegisteredTool>), String> {
    let entry = RegisteredTool::of(tool.clone())?;
    let preview = match &entry.safeguards.preview {
        Some(Preview::Made(plan)) => Some(entry.preview(plan.clone())?),
        _ => None,
    };
    Ok((entry, preview))
}

impl ToolSet {
    /// Checks and indexes tools. Fails if two tools have one name, if an author's own schema cannot be used, or if a tool names
    /// another that is missing. A schema that is derived from a tool's types and cannot be used does not make the tool unusable.
    /// The tool is published with a schema that accepts any object, its types check the arguments, and the log has the problem. A
    /// preview that is made with a tool follows it in the list.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<Self, RegistrationError> {
        gather(tools, Unusable::Fails)
    }

    /// Checks and indexes tools that a tool source returns while the server runs. A tool that cannot be used does not affect the
    /// others. It is listed with a schema that accepts anything. Its calls are refused with the reason, which the log has too. If
    /// it is the preview or the undo tool of others, these are refused too: their calls could not be previewed or undone as
    /// promised. If several tools have one name, that name is ambiguous: it is listed once, and its calls are refused.
    pub fn provided(
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<Self, RegistrationError> {
        gather(tools, Unusable::IsTold)
    }
}

/// Builds the set of these tools.
fn gather(
    tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    unusable: Unusable,
) -> Result<ToolSet, RegistrationError> {
    let given = tools.into_iter().map(|tool| ToolCandidate::of(tool, unusable));
    let mut given = given.collect::<Result<Vec<_>, _>>()?;
    loop {
        let faults = named_twice(&given);
        if !faults.is_empty() {
            given = without(given, faults, unusable)?;
            continue;
        }
        let set = ToolSet::of(given.iter().flat_map(ToolCandidate::entries).cloned());
        let faults = neighbors::faults(&set);
        if faults.is_empty() {
            neighbors::warn(&set);
            return Ok(set);
        }
        // The next round finds the tools that rely on those replaced here.
        given = without(given, faults, unusable)?;
    }
}

/// Returns the faults of tools that share a name, which may be that of a preview made with a tool. The name is ambiguous, so all of
/// them are refused. If a preview shares its name, its tool is refused too.
fn named_twice(given: &[ToolCandidate]) -> Vec<RegistrationError> {
    let mut times: HashMap<&str, usize> = HashMap::new();
    for entry in given.iter().flat_map(ToolCandidate::entries) {
        *times.entry(entry.name()).or_default() += 1;
    }
    let twice = |entry: &RegisteredTool| times[entry.name()] > 1;
    let mut faults = Vec::new();
    for one in given {
        for entry in one.entries().filter(|entry| twice(entry)) {
            faults.push(RegistrationError::of(entry.name(), "another tool has this name"));
        }
        if let Some(preview) = one.preview.as_ref().filter(|preview| twice(preview)) {
            let problem = format!("another tool has the name of its preview, {:?}", preview.name());
            faults.push(RegistrationError::of(one.entry.name(), problem));
        }
    }
    faults
}

/// Replaces the tools with faults, or fails. The order stays. Of several tools with one name, the first is replaced and the others
/// are dropped.
fn without(
    given: Vec<ToolCandidate>,
    faults: Vec<RegistrationError>,
    unusable: Unusable,
) -> Result<Vec<ToolCandidate>, RegistrationError> {
    if let (Unusable::Fails, Some(fault)) = (unusable, faults.first()) {
        return Err(fault.clone());
    }
    let mut problems: HashMap<String, String> = HashMap::new();
    for fault in faults {
        let RegistrationError { tool, problem } = fault;
        problems.entry(tool).or_insert(problem);
    }
    let (mut left, mut told) = (Vec::with_capacity(given.len()), HashSet::new());
    for one in given {
        // A fault of a preview that is made with a tool is a fault of the tool.
        let problem = one.entries().find_map(|entry| problems.get(entry.name()));
        match problem {
            None => left.push(one),
            Some(_) if !told.insert(one.entry.name().to_owned()) => {}
            // Keep the problem that was found first.
            Some(_) if one.entry.broken => left.push(one),
            Some(problem) => left.push(ToolCandidate::broken(one.tool, problem.clone(), unusable)?),
        }
    }
    Ok(left)
}

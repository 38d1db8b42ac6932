//! Putting a set of tools together: each is checked by itself, then all of them beside each other.
//!
//! What is wrong with a tool stops a list that its author can mend before anybody is served. In one that a provider gives, it
//! costs that tool, and those that would promise what they cannot keep without it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Tool;
use super::broken::Broken;
use super::entry::RegisteredTool;
use super::neighbours;
use super::safeguards::Preview;
use super::set::{RegistrationError, ToolSet};

/// What becomes of a tool that cannot be used.
#[derive(Clone, Copy)]
pub(super) enum Unusable {
    /// There is no set.
    Fails,
    /// It is listed, and its calls are refused.
    IsTold,
}

/// A tool that was given, with the preview that is made with it.
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

    /// A tool that cannot be used has no preview: there is nothing to look at.
    fn broken(
        tool: Arc<dyn Tool>,
        problem: String,
        unusable: Unusable,
    ) -> Result<Self, RegistrationError> {
        let refuse = |problem| RegistrationError::of(&tool.definition().name, problem);
        let entry = match unusable {
            Unusable::Fails => return Err(refuse(problem)),
            Unusable::IsTold => {
                RegisteredTool::broken(Broken::instead_of(&*tool, &problem)).map_err(refuse)?
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

/// The set of these tools.
pub(super) fn gather(
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
        let faults = neighbours::faults(&set);
        if faults.is_empty() {
            neighbours::warn(&set);
            return Ok(set);
        }
        // Who relies on one that has just turned out to be of no use is found in the next round.
        given = without(given, faults, unusable)?;
    }
}

/// Names that more than one tool has, be it a preview that is made: nobody can say which is meant, so neither is. Whose preview it
/// would have been goes with it.
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

/// The tools after what was found of them, in their order. Of those with one name the first stands for all.
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
        // What is wrong with a preview that is made with a tool is wrong with the tool.
        let problem = one.entries().find_map(|entry| problems.get(entry.name()));
        match problem {
            None => left.push(one),
            Some(_) if !told.insert(one.entry.name().to_owned()) => {}
            // What was found of it first is told.
            Some(_) if one.entry.broken => left.push(one),
            Some(problem) => left.push(ToolCandidate::broken(one.tool, problem.clone(), unusable)?),
        }
    }
    Ok(left)
}

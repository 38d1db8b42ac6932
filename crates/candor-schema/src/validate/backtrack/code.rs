//! From a tree to instructions.

use super::Program;
use super::tree::{Assertion, PatternNode, Tree, bytes_of};

/// What the machine does next. Places in the code and slots are numbers.
#[derive(Clone, Copy)]
pub(super) enum Instruction {
    /// One character of a set, before or behind.
    Set {
        set: u32,
        back: bool,
    },
    Assert(Assertion),
    /// What a group matched.
    Group {
        group: u32,
        fold: bool,
        back: bool,
    },
    /// Goes to the first place, and to the second if that fails.
    Split(u32, u32),
    Jump(u32),
    /// Notes the position.
    Save(u32),
    /// Forgets what the slots from the first to before the second hold.
    Forget(u32, u32),
    /// Fails if the position is the one that was noted.
    Moved(u32),
    /// What follows must match here, or must not; then the code goes on at `end`.
    Look {
        negated: bool,
        end: u32,
    },
    Match,
}

/// Writes a program of at most `room` bytes.
pub(super) fn compile(tree: Tree, room: usize) -> Result<Program, String> {
    let Tree { root, sets, groups, refers } = tree;
    let mut writer = Writer {
        code: Vec::new(),
        most: room.saturating_sub(bytes_of(&sets)) / size_of::<Instruction>(),
        refers,
        slots: if refers { 2 * (groups + 1) } else { 0 },
    };
    writer.node(&root, false)?;
    writer.push(Instruction::Match)?;
    let anchored = matches!(writer.code[0], Instruction::Assert(Assertion::Start));
    Ok(Program { code: writer.code, sets, slots: writer.slots, anchored })
}

struct Writer {
    code: Vec<Instruction>,
    /// How many instructions there may be.
    most: usize,
    /// What groups match matters.
    refers: bool,
    slots: usize,
}

impl Writer {
    fn here(&self) -> u32 {
        number(self.code.len())
    }

    fn push(&mut self, instruction: Instruction) -> Result<usize, String> {
        if self.code.len() >= self.most {
            return Err("it takes too much memory; a count in it may be too high".to_owned());
        }
        self.code.push(instruction);
        Ok(self.code.len() - 1)
    }

    /// Writes a part that is matched forwards, or backwards for what must be behind.
    fn node(&mut self, node: &PatternNode, back: bool) -> Result<(), String> {
        match node {
            PatternNode::Set(set) => {
                self.push(Instruction::Set { set: number(*set), back })?;
            }
            PatternNode::Assertion(assertion) => {
                self.push(Instruction::Assert(*assertion))?;
            }
            PatternNode::Back { group, fold } => {
                self.push(Instruction::Group { group: number(*group), fold: *fold, back })?;
            }
            PatternNode::Capture(group, inner) if self.refers => {
                let (start, end) = (number(2 * group), number(2 * group + 1));
                self.push(Instruction::Save(if back { end } else { start }))?;
                self.node(inner, back)?;
                self.push(Instruction::Save(if back { start } else { end }))?;
            }
            PatternNode::Capture(_, inner) => self.node(inner, back)?,
            PatternNode::Look { behind, negated, inner } => {
                let look = self.push(Instruction::Match)?;
                self.node(inner, *behind)?;
                self.push(Instruction::Match)?;
                self.code[look] = Instruction::Look { negated: *negated, end: self.here() };
            }
            PatternNode::Sequence(nodes) if back => {
                nodes.iter().rev().try_for_each(|node| self.node(node, back))?;
            }
            PatternNode::Sequence(nodes) => {
                nodes.iter().try_for_each(|node| self.node(node, back))?;
            }
            PatternNode::Either(branches) => self.either(branches, back)?,
            PatternNode::Repeat { .. } => self.repeat(node, back)?,
        }
        Ok(())
    }

    fn either(&mut self, branches: &[PatternNode], back: bool) -> Result<(), String> {
        let mut jumps = Vec::new();
        for (i, branch) in branches.iter().enumerate() {
            if i + 1 == branches.len() {
                self.node(branch, back)?;
                break;
            }
            let split = self.push(Instruction::Match)?;
            self.node(branch, back)?;
            jumps.push(self.push(Instruction::Match)?);
            self.code[split] = Instruction::Split(number(split + 1), self.here());
        }
        for jump in jumps {
            self.code[jump] = Instruction::Jump(self.here());
        }
        Ok(())
    }

    fn repeat(&mut self, node: &PatternNode, back: bool) -> Result<(), String> {
        let PatternNode::Repeat { inner, least, most, greedy, groups } = node else {
            return Ok(());
        };
        // Counted rounds are written one by one.
        let forgets = self.refers && !groups.is_empty();
        let forget = Instruction::Forget(number(2 * groups.start), number(2 * groups.end));
        let round = |writer: &mut Self| -> Result<(), String> {
            if forgets {
                writer.push(forget)?;
            }
            writer.node(inner, back)
        };
        for _ in 0..*least {
            let before = self.code.len();
            round(self)?;
            if self.code.len() == before {
                // It matches nothing, as often as it likes.
                return Ok(());
            }
        }
        let slot = self.slots;
        let is_empty = may_be_empty(inner);
        self.slots += usize::from(is_empty && *most != Some(*least));
        // A round that matches nothing would go on for ever, and ECMAScript does not count it.
        let guarded = |writer: &mut Self| -> Result<(), String> {
            if is_empty {
                writer.push(Instruction::Save(number(slot)))?;
            }
            round(writer)?;
            if is_empty {
                writer.push(Instruction::Moved(number(slot)))?;
            }
            Ok(())
        };
        let split = |first: u32, second: u32| match greedy {
            true => Instruction::Split(first, second),
            false => Instruction::Split(second, first),
        };
        let Some(most) = most else {
            let again = self.push(Instruction::Match)?;
            guarded(self)?;
            self.push(Instruction::Jump(number(again)))?;
            self.code[again] = split(number(again + 1), self.here());
            return Ok(());
        };
        let mut splits = Vec::new();
        for _ in *least..*most {
            splits.push(self.push(Instruction::Match)?);
            guarded(self)?;
        }
        for at in splits {
            self.code[at] = split(number(at + 1), self.here());
        }
        Ok(())
    }
}

/// Returns true unless every match has a character.
fn may_be_empty(node: &PatternNode) -> bool {
    match node {
        PatternNode::Set(_) => false,
        PatternNode::Assertion(_) | PatternNode::Back { .. } | PatternNode::Look { .. } => true,
        PatternNode::Capture(_, inner) => may_be_empty(inner),
        PatternNode::Repeat { inner, least, .. } => *least == 0 || may_be_empty(inner),
        PatternNode::Sequence(nodes) => nodes.iter().all(may_be_empty),
        PatternNode::Either(branches) => branches.iter().any(may_be_empty),
    }
}

/// Code has fewer instructions than `u32` counts: its room is a few megabytes.
fn number(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

//! Compiles a tree into instructions.

use super::Program;
use super::tree::{Assertion, PatternNode, Tree, bytes_of};

/// One instruction of the machine. Positions in the code and slots are numbers.
#[derive(Clone, Copy)]
pub(super) enum Instruction {
    /// Matches one character of a set, after the position or before it (`back`).
    Set {
        set: u32,
        back: bool,
    },
    Assert(Assertion),
    /// Matches the text that a group matched.
    Group {
        group: u32,
        fold: bool,
        back: bool,
    },
    /// Continues at the first position, and at the second if that fails.
    Split(u32, u32),
    Jump(u32),
    /// Stores the position in the text.
    Save(u32),
    /// Clears the slots from the first to before the second.
    Forget(u32, u32),
    /// Fails if the position is the stored one.
    Moved(u32),
    /// The code that follows must match here, or must not; then the machine continues at `end`.
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
    /// Maximum number of instructions.
    most: usize,
    /// The pattern has back-references, so the machine must store what groups match.
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

    /// Writes a part that is matched forward, or backward in a look-behind.
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
        // Counted rounds are written out one by one.
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
                // A round without instructions matches the empty text, however often it runs.
                return Ok(());
            }
        }
        let slot = self.slots;
        let is_empty = may_be_empty(inner);
        self.slots += usize::from(is_empty && *most != Some(*least));
        // A round that matches nothing would loop forever, and ECMAScript does not count it.
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

/// Returns true unless every match has at least one character.
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

/// Converts an index. Code is limited to a few megabytes, so `u32` can count its instructions.
fn number(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

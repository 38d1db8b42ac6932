//! Runs instructions on a text.

use super::super::run::Run;
use super::Program;
use super::code::Instruction;
use super::tree::Assertion;

/// Maximum number of frames on the stack: some twenty megabytes.
const DEEPEST: usize = 1 << 20;

/// No position.
const NOWHERE: usize = usize::MAX;

/// What the machine does when it backtracks.
enum Frame {
    /// Tries an alternative.
    Try { place: u32, at: usize },
    /// Restores what a slot held before.
    Undo { slot: u32, held: usize },
}

struct Machine<'m> {
    program: &'m Program,
    text: &'m str,
    slots: Vec<usize>,
    frames: Vec<Frame>,
}

pub(super) fn matches(program: &Program, text: &str, run: &mut Run) -> bool {
    let slots = vec![NOWHERE; program.slots];
    run.charge(program.slots / 8);
    let mut machine = Machine { program, text, slots, frames: Vec::new() };
    let last = if program.anchored { 0 } else { text.len() };
    let mut starts = (0..=last).filter(|at| text.is_char_boundary(*at));
    starts.any(|at| machine.run(0, at, run) || run.is_spent()) && !run.is_spent()
}

impl Machine<'_> {
    /// Runs the code from a place until it matches or fails. Slots keep what they hold only after a match.
    fn run(&mut self, place: u32, at: usize, run: &mut Run) -> bool {
        let base = self.frames.len();
        let (mut place, mut at) = (place, at);
        loop {
            run.charge(1);
            if run.is_spent() || self.frames.len() > DEEPEST {
                // Slots need no undo, because the answer does not count.
                run.give_up();
                return false;
            }
            let next = match self.program.code[place as usize] {
                Instruction::Match => {
                    // A look-around is not entered again, so its alternatives are dropped.
                    let kept = self.frames.drain(base..);
                    let undo: Vec<Frame> =
                        kept.filter(|frame| matches!(frame, Frame::Undo { .. })).collect();
                    self.frames.extend(undo);
                    return true;
                }
                Instruction::Jump(to) => Some((to, at)),
                Instruction::Split(first, second) => {
                    self.frames.push(Frame::Try { place: second, at });
                    Some((first, at))
                }
                Instruction::Save(slot) => {
                    self.set(slot, at);
                    Some((place + 1, at))
                }
                Instruction::Forget(from, to) => {
                    run.charge((to - from) as usize);
                    (from..to).for_each(|slot| self.set(slot, NOWHERE));
                    Some((place + 1, at))
                }
                Instruction::Moved(slot) => {
                    (self.slots[slot as usize] != at).then_some((place + 1, at))
                }
                Instruction::Assert(assertion) => {
                    self.holds(assertion, at).then_some((place + 1, at))
                }
                Instruction::Set { set, back } => {
                    self.character(set, at, back).map(|at| (place + 1, at))
                }
                Instruction::Group { group, fold, back } => {
                    self.again(group, fold, at, back, run).map(|at| (place + 1, at))
                }
                Instruction::Look { negated, end } => {
                    let before = self.frames.len();
                    let found = self.run(place + 1, at, run);
                    if found && negated {
                        self.undo(before);
                    }
                    (found != negated).then_some((end, at))
                }
            };
            (place, at) = match next.or_else(|| self.back(base)) {
                Some(next) => next,
                None => return false,
            };
        }
    }

    /// Restores slots up to the next alternative, and returns that alternative.
    fn back(&mut self, base: usize) -> Option<(u32, usize)> {
        while self.frames.len() > base {
            match self.frames.pop()? {
                Frame::Try { place, at } => return Some((place, at)),
                Frame::Undo { slot, held } => self.slots[slot as usize] = held,
            }
        }
        None
    }

    fn undo(&mut self, base: usize) {
        while self.back(base).is_some() {}
    }

    fn set(&mut self, slot: u32, at: usize) {
        let held = std::mem::replace(&mut self.slots[slot as usize], at);
        self.frames.push(Frame::Undo { slot, held });
    }

    fn before(&self, at: usize) -> Option<char> {
        self.text[..at].chars().next_back()
    }

    fn behind(&self, at: usize) -> Option<char> {
        self.text[at..].chars().next()
    }

    fn holds(&self, assertion: Assertion, at: usize) -> bool {
        let ends_line = |c: char| matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}');
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        match assertion {
            Assertion::Start => at == 0,
            Assertion::End => at == self.text.len(),
            Assertion::StartOfLine => self.before(at).is_none_or(ends_line),
            Assertion::EndOfLine => self.behind(at).is_none_or(ends_line),
            Assertion::Boundary => is_word(self.before(at)) != is_word(self.behind(at)),
            Assertion::NoBoundary => is_word(self.before(at)) == is_word(self.behind(at)),
        }
    }

    /// Returns the position after a character of a set.
    fn character(&self, set: u32, at: usize, back: bool) -> Option<usize> {
        let c = if back { self.before(at) } else { self.behind(at) }?;
        let set = &self.program.sets[set as usize];
        let found = set.partition_point(|(_, end)| *end < c);
        let fits = set.get(found).is_some_and(|(start, _)| *start <= c);
        fits.then(|| if back { at - c.len_utf8() } else { at + c.len_utf8() })
    }

    /// Returns the position after a repetition of what a group matched. A group that has not matched is empty.
    fn again(&self, group: u32, fold: bool, at: usize, back: bool, run: &mut Run) -> Option<usize> {
        let [start, end] = [2 * group, 2 * group + 1].map(|slot| self.slots[slot as usize]);
        if start == NOWHERE || end == NOWHERE {
            return Some(at);
        }
        let matched = self.text.get(start..end)?;
        run.charge(matched.len() / 4);
        let same = |a: char, b: char| a == b || (fold && a.to_lowercase().eq(b.to_lowercase()));
        let mut at = at;
        if back {
            for c in matched.chars().rev() {
                let other = self.before(at).filter(|other| same(c, *other))?;
                at -= other.len_utf8();
            }
        } else {
            for c in matched.chars() {
                let other = self.behind(at).filter(|other| same(c, *other))?;
                at += other.len_utf8();
            }
        }
        Some(at)
    }
}

//! Translates ECMAScript regular expressions into the syntax of the linear engine.
//!
//! ECMAScript differs in small ways: `\d` and `\w` are ASCII, `\s` and `.` have other spaces and line ends, `\cJ` and
//! `\u000A` are characters, `[^]` is any character, and braces without a count are literal. Groups lose their names, because
//! no caller reads what they match. Look-around and back-references have no counterpart.

use std::fmt::Write as _;

use super::reader::{LINE_ENDS, Reader};

/// Why a pattern has no translation.
#[derive(Debug)]
pub(super) enum Untranslatable {
    /// It has look-around or back-references, which only the backtracking engine runs.
    Backtracks,
    /// It is not a pattern.
    Wrong(String),
}

impl<T: Into<String>> From<T> for Untranslatable {
    fn from(problem: T) -> Self {
        Self::Wrong(problem.into())
    }
}

/// Translates a pattern, or returns why it has no translation.
pub(super) fn translate(pattern: &str) -> Result<String, Untranslatable> {
    let mut translation = Translation {
        reader: Reader { rest: pattern.chars().peekable() },
        out: String::with_capacity(pattern.len() + 16),
        dots_are_set: false,
        enclosing: Vec::new(),
    };
    translation.run()?;
    Ok(translation.out)
}

struct Translation<'p> {
    reader: Reader<'p>,
    out: String,
    /// The flag `s` is on, so `.` is left to the engine.
    dots_are_set: bool,
    /// The flag `s` as it was before each open group. It is restored when the group ends.
    enclosing: Vec<bool>,
}

impl Translation<'_> {
    fn run(&mut self) -> Result<(), Untranslatable> {
        while let Some(c) = self.reader.rest.next() {
            match c {
                '\\' => self.escape()?,
                '[' => self.out.push_str(&self.reader.class()?),
                '(' => self.group()?,
                ')' => {
                    self.dots_are_set = self.enclosing.pop().unwrap_or_default();
                    self.out.push(')');
                }
                '{' if self.reader.counts() => self.out.push('{'),
                '{' | ']' => {
                    self.out.push('\\');
                    self.out.push(c);
                }
                '}' if self.open_count() => self.out.push('}'),
                '}' => self.out.push_str("\\}"),
                '.' if !self.dots_are_set => {
                    let _ = write!(self.out, "[^{LINE_ENDS}]");
                }
                other => self.out.push(other),
            }
        }
        Ok(())
    }

    /// Returns true if the output ends in a count whose brace is still open.
    fn open_count(&self) -> bool {
        let inside = self.out.trim_end_matches(|c: char| c.is_ascii_digit() || c == ',');
        inside.ends_with('{') && !inside.ends_with("\\{")
    }

    fn escape(&mut self) -> Result<(), Untranslatable> {
        match self.reader.rest.peek() {
            Some('b') => self.out.push_str(r"(?-u:\b)"),
            Some('B') => self.out.push_str(r"(?-u:\B)"),
            Some('1'..='9' | 'k') => return Err(Untranslatable::Backtracks),
            _ => {
                self.out.push_str(&self.reader.atom()?.as_class());
                return Ok(());
            }
        }
        self.reader.rest.next();
        Ok(())
    }

    fn group(&mut self) -> Result<(), Untranslatable> {
        if self.reader.rest.next_if_eq(&'?').is_none() {
            self.enclosing.push(self.dots_are_set);
            self.out.push_str("(?:");
            return Ok(());
        }
        match self.reader.rest.peek() {
            Some('=' | '!') => return Err(Untranslatable::Backtracks),
            Some('<') => {
                self.reader.rest.next();
                if matches!(self.reader.rest.peek(), Some('=' | '!')) {
                    return Err(Untranslatable::Backtracks);
                }
                self.reader.name()?;
                self.enclosing.push(self.dots_are_set);
                self.out.push_str("(?:");
            }
            _ => self.flags(),
        }
        Ok(())
    }

    /// Copies flags, which the engine validates. Without `:` they are no group: they hold until the group around them ends.
    fn flags(&mut self) {
        self.out.push_str("(?");
        let before = self.dots_are_set;
        let mut on = true;
        let is_flag = |c: &char| c.is_ascii_alphabetic() || *c == '-';
        while let Some(flag) = self.reader.rest.next_if(is_flag) {
            match flag {
                '-' => on = false,
                's' => self.dots_are_set = on,
                _ => {}
            }
            self.out.push(flag);
        }
        if self.reader.rest.next_if_eq(&')').is_some() {
            self.out.push(')');
        } else {
            self.enclosing.push(before);
        }
    }
}

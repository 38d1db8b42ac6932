//! Regular expressions of ECMAScript, in the syntax of our engine.
//!
//! The two differ in small ways: `\d` and `\w` are ASCII, `\s` and `.` know other spaces and line ends, `\cJ` and
//! `\u000A` are characters, `[^]` is any of them, and braces that count nothing are braces. Groups lose their names, as
//! nobody asks what they matched. What needs backtracking has no counterpart.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

const DIGITS: &str = "0-9";
const WORDS: &str = "0-9A-Za-z_";
const SPACES: &str = r"\x{9}-\x{d}\x{20}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}";
const LINE_ENDS: &str = r"\x{a}\x{d}\x{2028}\x{2029}";
const NOTHING: &str = r"[^\x{0}-\x{10ffff}]";
const ANYTHING: &str = r"[\x{0}-\x{10ffff}]";

/// What to do with look-around and back references.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Backtracking {
    /// They cannot be run.
    Refused,
    /// It is only asked whether the pattern is one; they match nothing then.
    Ignored,
}

/// Translates a pattern, or says why it cannot be.
pub(super) fn translate(pattern: &str, backtracking: Backtracking) -> Result<String, String> {
    let mut translation = Translation {
        rest: pattern.chars().peekable(),
        out: String::with_capacity(pattern.len() + 16),
        backtracking,
        dots_are_told: false,
    };
    translation.run()?;
    Ok(translation.out)
}

struct Translation<'p> {
    rest: Peekable<Chars<'p>>,
    out: String,
    backtracking: Backtracking,
    /// A flag says what `.` means.
    dots_are_told: bool,
}

/// One item of a class.
enum Atom {
    One(char),
    /// The inside of a class.
    Several(String),
}

impl Translation<'_> {
    fn run(&mut self) -> Result<(), String> {
        while let Some(c) = self.rest.next() {
            match c {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' => self.group()?,
                '{' if self.counts() => self.out.push('{'),
                '{' | ']' => {
                    self.out.push('\\');
                    self.out.push(c);
                }
                '}' if self.open_count() => self.out.push('}'),
                '}' => self.out.push_str("\\}"),
                '.' if !self.dots_are_told => {
                    let _ = write!(self.out, "[^{LINE_ENDS}]");
                }
                other => self.out.push(other),
            }
        }
        Ok(())
    }

    /// Whether a brace begins a count: `{2}`, `{2,}` or `{2,5}`.
    fn counts(&self) -> bool {
        let mut ahead = self.rest.clone();
        let mut digits = 0;
        let mut comma = false;
        loop {
            match ahead.next() {
                Some(c) if c.is_ascii_digit() => digits += 1,
                Some(',') if digits > 0 && !comma => comma = true,
                Some('}') => return digits > 0,
                _ => return false,
            }
        }
    }

    /// Whether what was written last is a count that waits for its brace.
    fn open_count(&self) -> bool {
        let inside = self.out.trim_end_matches(|c: char| c.is_ascii_digit() || c == ',');
        inside.ends_with('{') && !inside.ends_with("\\{")
    }

    fn literal(&mut self, c: char) {
        let _ = write!(self.out, "\\x{{{:x}}}", u32::from(c));
    }

    fn escape(&mut self) -> Result<(), String> {
        match self.rest.peek() {
            Some('b') => {
                self.rest.next();
                self.out.push_str(r"(?-u:\b)");
                return Ok(());
            }
            Some('B') => {
                self.rest.next();
                self.out.push_str(r"(?-u:\B)");
                return Ok(());
            }
            Some('1'..='9' | 'k') => {
                if self.backtracking == Backtracking::Refused {
                    return Err(
                        "back references need backtracking, which is not supported".to_owned()
                    );
                }
                if self.rest.next() == Some('k') {
                    self.rest.by_ref().find(|c| *c == '>').ok_or("`\\k` names no group")?;
                }
                self.out.push_str("(?:)");
                return Ok(());
            }
            _ => {}
        }
        match self.atom()? {
            Atom::One(c) => self.literal(c),
            Atom::Several(inside) => {
                let _ = write!(self.out, "[{inside}]");
            }
        }
        Ok(())
    }

    /// What stands behind a backslash, in a class or not.
    fn atom(&mut self) -> Result<Atom, String> {
        let c = self.rest.next().ok_or("it ends with a backslash")?;
        let several = |inside: &str| Ok(Atom::Several(inside.to_owned()));
        match c {
            'd' => several(DIGITS),
            'w' => several(WORDS),
            's' => several(SPACES),
            'D' => several(&format!("[^{DIGITS}]")),
            'W' => several(&format!("[^{WORDS}]")),
            'S' => several(&format!("[^{SPACES}]")),
            'p' | 'P' => self.property(c),
            't' => Ok(Atom::One('\t')),
            'n' => Ok(Atom::One('\n')),
            'v' => Ok(Atom::One('\x0b')),
            'f' => Ok(Atom::One('\x0c')),
            'r' => Ok(Atom::One('\r')),
            '0' if !self.rest.peek().is_some_and(char::is_ascii_digit) => Ok(Atom::One('\0')),
            'c' => match self.rest.next() {
                Some(letter) if letter.is_ascii_alphabetic() => {
                    Ok(Atom::One(char::from(letter as u8 % 32)))
                }
                _ => Err("`\\c` needs a letter".to_owned()),
            },
            'x' => {
                let code = self.hex(2).ok_or("`\\x` needs two hexadecimal digits")?;
                self.character(code)
            }
            'u' => self.unicode(),
            letter if letter.is_ascii_alphanumeric() => Err(format!("`\\{letter}` means nothing")),
            other => Ok(Atom::One(other)),
        }
    }

    fn property(&mut self, c: char) -> Result<Atom, String> {
        if self.rest.next_if_eq(&'{').is_none() {
            return Err(format!("`\\{c}` needs a property in braces"));
        }
        let name: String = self.rest.by_ref().take_while(|c| *c != '}').collect();
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '=');
        if name.is_empty() || !name.chars().all(known) {
            return Err(format!("`\\{c}{{{name}}}` is no property"));
        }
        Ok(Atom::Several(format!("\\{c}{{{name}}}")))
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        let mut code = 0;
        for _ in 0..digits {
            code = code * 16 + self.rest.next()?.to_digit(16)?;
        }
        Some(code)
    }

    fn unicode(&mut self) -> Result<Atom, String> {
        let wrong = "`\\u` needs four hexadecimal digits, or some in braces";
        if self.rest.next_if_eq(&'{').is_some() {
            let digits: String = self.rest.by_ref().take_while(|c| *c != '}').collect();
            let code = u32::from_str_radix(&digits, 16).map_err(|_| wrong)?;
            return self.character(code);
        }
        let code = self.hex(4).ok_or(wrong)?;
        // Two halves of a character outside of the basic plane.
        if (0xd800..0xdc00).contains(&code) {
            let mut ahead = self.rest.clone();
            if ahead.next() == Some('\\') && ahead.next() == Some('u') {
                self.rest = ahead;
                let low = self.hex(4).ok_or(wrong)?;
                if (0xdc00..0xe000).contains(&low) {
                    return self.character(0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00));
                }
            }
        }
        self.character(code)
    }

    #[allow(clippy::unused_self, reason = "reads as one of its kind")]
    fn character(&self, code: u32) -> Result<Atom, String> {
        let c = char::from_u32(code).ok_or("half of a surrogate pair is no character")?;
        Ok(Atom::One(c))
    }

    fn class(&mut self) -> Result<(), String> {
        let negated = self.rest.next_if_eq(&'^').is_some();
        let mut inside = String::new();
        loop {
            let Some(c) = self.rest.next() else {
                return Err("a `[` is never closed".to_owned());
            };
            if c == ']' {
                break;
            }
            let first = self.class_atom(c)?;
            // A dash between two characters is a range; at the end, or beside a class, it is a dash.
            let mut ahead = self.rest.clone();
            let ranges = ahead.next() == Some('-') && !matches!(ahead.next(), None | Some(']'));
            let Atom::One(start) = first else {
                push(&mut inside, &first);
                continue;
            };
            if !ranges {
                push(&mut inside, &first);
                continue;
            }
            self.rest.next();
            let end = self.rest.next().ok_or("a `[` is never closed")?;
            match self.class_atom(end)? {
                Atom::One(end) if start <= end => {
                    let _ = write!(inside, "\\x{{{:x}}}-\\x{{{:x}}}", start as u32, end as u32);
                }
                Atom::One(end) => return Err(format!("the range {start}-{end} goes backwards")),
                several => {
                    push(&mut inside, &first);
                    push(&mut inside, &Atom::One('-'));
                    push(&mut inside, &several);
                }
            }
        }
        match (inside.is_empty(), negated) {
            (true, true) => self.out.push_str(ANYTHING),
            (true, false) => self.out.push_str(NOTHING),
            (false, _) => {
                let not = if negated { "^" } else { "" };
                let _ = write!(self.out, "[{not}{inside}]");
            }
        }
        Ok(())
    }

    fn class_atom(&mut self, c: char) -> Result<Atom, String> {
        match (c, self.rest.peek()) {
            ('\\', Some('b')) => {
                self.rest.next();
                Ok(Atom::One('\x08'))
            }
            ('\\', _) => self.atom(),
            _ => Ok(Atom::One(c)),
        }
    }

    fn group(&mut self) -> Result<(), String> {
        if self.rest.next_if_eq(&'?').is_none() {
            self.out.push_str("(?:");
            return Ok(());
        }
        let looks = |behind: &mut Self| {
            if behind.backtracking == Backtracking::Refused {
                return Err("look-around needs backtracking, which is not supported".to_owned());
            }
            behind.out.push_str("(?:");
            Ok(())
        };
        match self.rest.peek() {
            Some('=' | '!') => {
                self.rest.next();
                looks(self)
            }
            Some('<') => {
                self.rest.next();
                if self.rest.next_if(|c| matches!(c, '=' | '!')).is_some() {
                    return looks(self);
                }
                let name: String = self.rest.by_ref().take_while(|c| *c != '>').collect();
                if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "_$".contains(c))
                {
                    return Err("a group has no proper name".to_owned());
                }
                self.out.push_str("(?:");
                Ok(())
            }
            // Flags are for the engine to judge.
            _ => {
                self.out.push_str("(?");
                while let Some(flag) = self.rest.next_if(|c| c.is_ascii_alphabetic() || *c == '-') {
                    self.dots_are_told |= flag == 's';
                    self.out.push(flag);
                }
                Ok(())
            }
        }
    }
}

fn push(inside: &mut String, atom: &Atom) {
    match atom {
        Atom::One(c) => {
            let _ = write!(inside, "\\x{{{:x}}}", u32::from(*c));
        }
        Atom::Several(several) => inside.push_str(several),
    }
}

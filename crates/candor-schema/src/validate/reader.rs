//! Reads the parts of regular expressions that mean the same to both engines: escapes, classes, names of groups.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

const DIGITS: &str = "0-9";
const WORDS: &str = "0-9A-Za-z_";
const SPACES: &str = r"\x{9}-\x{d}\x{20}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}";
pub(super) const LINE_ENDS: &str = r"\x{a}\x{d}\x{2028}\x{2029}";
const NOTHING: &str = r"[^\x{0}-\x{10ffff}]";
pub(super) const ANYTHING: &str = r"[\x{0}-\x{10ffff}]";

/// One item of a class.
pub(super) enum Atom {
    One(char),
    /// The inside of a class.
    Several(String),
}

impl Atom {
    /// Returns the atom in the syntax of the linear engine, by itself.
    pub(super) fn as_class(&self) -> String {
        match self {
            Self::One(c) => format!("\\x{{{:x}}}", u32::from(*c)),
            Self::Several(inside) => format!("[{inside}]"),
        }
    }
}

/// The rest of a pattern.
pub(super) struct Reader<'p> {
    pub(super) rest: Peekable<Chars<'p>>,
}

impl Reader<'_> {
    /// Returns true if the open brace begins a count: `{2}`, `{2,}` or `{2,5}`.
    pub(super) fn counts(&self) -> bool {
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

    /// Reads what follows a backslash, inside or outside a class.
    pub(super) fn atom(&mut self) -> Result<Atom, String> {
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
                character(code)
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
        let name =
            self.until('}').ok_or_else(|| format!("the brace of `\\{c}` is never closed"))?;
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '=');
        if name.is_empty() || !name.chars().all(known) {
            return Err(format!("`\\{c}{{{name}}}` is no property"));
        }
        Ok(Atom::Several(format!("\\{c}{{{name}}}")))
    }

    /// Reads up to the end sign and skips it. Returns `None` if the pattern ends first.
    fn until(&mut self, end: char) -> Option<String> {
        let mut text = String::new();
        loop {
            match self.rest.next()? {
                c if c == end => return Some(text),
                c => text.push(c),
            }
        }
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
            let digits = self.until('}').ok_or(wrong)?;
            // The conversion below also accepts a sign.
            if !digits.chars().all(|c| c.is_ascii_hexdigit()) {
                return Err(wrong.to_owned());
            }
            let code = u32::from_str_radix(&digits, 16).map_err(|_| wrong)?;
            return character(code);
        }
        let code = self.hex(4).ok_or(wrong)?;
        // A surrogate pair: the two halves of a character outside the basic plane.
        if (0xd800..0xdc00).contains(&code) {
            let mut ahead = self.rest.clone();
            if ahead.next() == Some('\\') && ahead.next() == Some('u') {
                self.rest = ahead;
                let low = self.hex(4).ok_or(wrong)?;
                if (0xdc00..0xe000).contains(&low) {
                    return character(0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00));
                }
            }
        }
        character(code)
    }

    /// Reads a class whose bracket is open, and returns it in the syntax of the linear engine.
    pub(super) fn class(&mut self) -> Result<String, String> {
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
        Ok(match (inside.is_empty(), negated) {
            (true, true) => ANYTHING.to_owned(),
            (true, false) => NOTHING.to_owned(),
            (false, true) => format!("[^{inside}]"),
            (false, false) => format!("[{inside}]"),
        })
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

    /// Reads the name of a group, whose bracket is open.
    pub(super) fn name(&mut self) -> Result<String, String> {
        let name = self.until('>').ok_or("the name of a group is never closed")?;
        let is_proper = |c: char| c.is_alphanumeric() || "_$".contains(c);
        match !name.is_empty() && name.chars().all(is_proper) {
            true => Ok(name),
            false => Err("a group has no proper name".to_owned()),
        }
    }

    /// Reads the name that follows `\k`.
    pub(super) fn referred(&mut self) -> Result<String, String> {
        self.rest.next_if_eq(&'<').ok_or("`\\k` names no group")?;
        self.name()
    }
}

fn character(code: u32) -> Result<Atom, String> {
    let c = char::from_u32(code).ok_or("half of a surrogate pair is no character")?;
    Ok(Atom::One(c))
}

fn push(inside: &mut String, atom: &Atom) {
    match atom {
        Atom::One(c) => {
            let _ = write!(inside, "\\x{{{:x}}}", u32::from(*c));
        }
        Atom::Several(several) => inside.push_str(several),
    }
}

//! Member names that compare quickly.
//!
//! A print holds the first and the last eight bytes of a name, and its length. For names of up to sixteen bytes, which most
//! are, equal prints mean equal names.

/// A digest that tells most names apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Print {
    first: u64,
    last: u64,
    length: usize,
}

impl Print {
    #[inline]
    pub(super) fn of(name: &str) -> Self {
        let bytes = name.as_bytes();
        let (first, last) = match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
            _ => match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
                (Some(first), Some(last)) => {
                    (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into())
                }
                _ => match bytes {
                    [] => (0, 0),
                    [first, .., last] => {
                        (u64::from(*first) | u64::from(bytes[1]) << 8, u64::from(*last))
                    }
                    [only] => (u64::from(*only), 0),
                },
            },
        };
        Self { first, last, length: bytes.len() }
    }

    /// Returns true if equal prints mean equal names.
    #[inline]
    fn is_exact(self) -> bool {
        self.length <= 16
    }

    #[inline]
    fn hash(self) -> u64 {
        let first = self.first ^ 0x9e37_79b9_7f4a_7c15;
        let last = self.last.rotate_left(17) ^ 0xc2b2_ae3d_27d4_eb4f ^ self.length as u64;
        // Both halves of the product, so that every bit counts.
        let product = u128::from(first) * u128::from(last);
        #[allow(clippy::cast_possible_truncation, reason = "the lower half")]
        let lower = product as u64;
        lower ^ (product >> 64) as u64
    }
}

/// A name with its print.
pub(super) struct Name {
    print: Print,
    pub(super) text: Box<str>,
}

impl Name {
    pub(super) fn new(name: &str) -> Self {
        Self { print: Print::of(name), text: name.into() }
    }

    #[inline]
    pub(super) fn is(&self, print: Print, name: &str) -> bool {
        self.print == print && (print.is_exact() || *self.text == *name)
    }
}

/// Up to this many names are compared one by one.
const FEW: usize = 8;

/// Maximum number of positions in the table to try for a name.
const STRIDE: usize = 16;

/// An index of the names in a list.
pub(super) enum Index {
    /// There are few names.
    None,
    /// A hash table at least twice as large as the list. It holds numbers, counted from one.
    Table(Box<[u32]>),
    /// The numbers of the names, sorted by name: too many prints collide.
    Sorted(Box<[u32]>),
}

impl Index {
    pub(super) fn new(names: &[&Name]) -> Self {
        if names.len() <= FEW {
            return Self::None;
        }
        Self::table(names).unwrap_or_else(|| {
            let mut sorted: Vec<u32> = (0..).take(names.len()).collect();
            sorted.sort_unstable_by_key(|i| &*names[*i as usize].text);
            Self::Sorted(sorted.into())
        })
    }

    fn table(names: &[&Name]) -> Option<Self> {
        let mut table = vec![0_u32; (names.len() * 2).next_power_of_two()];
        let mask = table.len() - 1;
        for (number, name) in (1..).zip(names) {
            let place = places(name.print, mask).find(|place| table[*place] == 0)?;
            table[place] = number;
        }
        Some(Self::Table(table.into()))
    }

    /// Returns the number of a name in the indexed list.
    #[inline]
    pub(super) fn find<'n>(
        &self,
        print: Print,
        name: &str,
        listed: impl Fn(usize) -> Option<&'n Name>,
    ) -> Option<usize> {
        let is_there = |i: usize| listed(i).is_some_and(|listed| listed.is(print, name));
        match self {
            Self::None => (0..FEW).find(|i| is_there(*i)),
            Self::Table(table) => places(print, table.len() - 1)
                .map(|place| table[place] as usize)
                .take_while(|number| *number > 0)
                .map(|number| number - 1)
                .find(|i| is_there(*i)),
            Self::Sorted(sorted) => {
                let order = |i: &u32| listed(*i as usize).map(|listed| (*listed.text).cmp(name));
                let found =
                    sorted.binary_search_by(|i| order(i).unwrap_or(std::cmp::Ordering::Less));
                found.ok().map(|at| sorted[at] as usize)
            }
        }
    }
}

/// Returns the positions in a table where a name may be, best first.
#[inline]
fn places(print: Print, mask: usize) -> impl Iterator<Item = usize> {
    #[allow(clippy::cast_possible_truncation, reason = "the low bits are as good as any")]
    let start = print.hash() as usize;
    (0..STRIDE).map(move |step| start.wrapping_add(step) & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_lookup_works_with_equal_fingerprints() {
        let far: Vec<String> = (0..100).map(|i| format!("name{i}")).collect();
        let alike: Vec<String> = (0..100).map(|i| format!("the same {i:03} the same")).collect();
        let few: Vec<String> =
            ["", "a", "ab", "ba", "aba", "abba", "abcdefgh"].map(str::to_owned).into();
        for texts in [far, alike, few] {
            let names: Vec<Name> = texts.iter().map(|text| Name::new(text)).collect();
            let index = Index::new(&names.iter().collect::<Vec<_>>());
            let find = |text: &str| index.find(Print::of(text), text, |i| names.get(i));
            for (i, text) in texts.iter().enumerate() {
                assert_eq!(find(text), Some(i), "{text}");
                assert_eq!(find(&format!("{text}!")), None, "{text}");
            }
        }
    }

    #[test]
    fn short_names_have_distinct_fingerprints() {
        let texts =
            ["", "a", "b", "aa", "ab", "ba", "aaa", "aba", "baa", "aab", "\0", "\0\0", "a\0"];
        for (i, a) in texts.iter().enumerate() {
            for (j, b) in texts.iter().enumerate() {
                assert_eq!(Print::of(a) == Print::of(b), i == j, "{a:?} {b:?}");
            }
        }
    }
}

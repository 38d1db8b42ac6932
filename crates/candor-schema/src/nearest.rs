//! Finds the name that a caller probably meant.

/// Returns the known name nearest to `given`, if it is near enough to be a typo: two letters, or a third of a long name.
///
/// ```
/// let known = ["name", "max_results"];
/// assert_eq!(candor_schema::nearest("maxResult", known.into_iter()), Some("max_results"));
/// assert_eq!(candor_schema::nearest("colour", known.into_iter()), None);
/// ```
pub fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Longer names get no suggestion: the table grows with both lengths.
    const LONGEST: usize = 64;
    let given: Vec<char> = folded(given).collect();
    if given.len() > LONGEST {
        return None;
    }
    known
        .filter(|name| name.len() <= LONGEST)
        .map(|name| (distance(&given, &folded(name).collect::<Vec<_>>()), name))
        .filter(|(distance, name)| {
            let length = given.len().max(name.chars().count());
            *distance <= 2.max(length / 3) && *distance < length
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Folds a name: `maxResults`, `max_results` and `max-results` are the same name in three conventions.
fn folded(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase)
}

/// Returns how many letters to insert, delete, replace or swap with their neighbor.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replaced = above[j] + usize::from(a[i] != b[j]);
            let mut best = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn nearest_name_is_found_only_for_a_typo() {
        let known = || ["name", "max_results", "url", "x"].into_iter();
        assert_eq!(nearest("nmae", known()), Some("name"));
        assert_eq!(nearest("names", known()), Some("name"));
        assert_eq!(nearest("maxResults", known()), Some("max_results"));
        assert_eq!(nearest("max_reslut", known()), Some("max_results"));
        assert_eq!(nearest("URL", known()), Some("url"));
        assert_eq!(nearest("colour", known()), None);
        assert_eq!(nearest("y", known()), None, "nothing of it is left");
        assert_eq!(nearest(&"n".repeat(1_000_000), known()), None);
    }
}

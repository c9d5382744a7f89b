//! "Did you mean": the nearest of the names that would have been right.

/// The one of `names` nearest to `wrong`, if any is near enough to be what was meant: at most a third of its letters
/// (and at least one) inserted, dropped, replaced or swapped with a neighbour. Case counts half as far as a letter.
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 64; // names longer than any field; bounds the work on hostile input
    if wrong.chars().count() > LONGEST {
        return None;
    }
    names
        .into_iter()
        .filter(|name| !name.is_empty() && name.chars().count() <= LONGEST && *name != wrong)
        .map(|name| (distance(wrong, name), name))
        .filter(|(distance, name)| *distance <= limit(wrong, name))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Half-letters that two names may differ by.
fn limit(a: &str, b: &str) -> usize {
    2 * (a.chars().count().max(b.chars().count()) / 3).max(1)
}

/// Optimal string alignment distance in half-letters.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).map(|j| 2 * j).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![2 * (i + 1)];
        for (j, &y) in b.iter().enumerate() {
            let replaced = last[j] + cost(x, y);
            let moved = replaced.min(last[j + 1] + 2).min(row[j] + 2);
            let swapped = i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y && x != y;
            row.push(if swapped { moved.min(before[j - 1] + 2) } else { moved });
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

fn cost(x: char, y: char) -> usize {
    match (x == y, x.eq_ignore_ascii_case(&y)) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_the_one_that_was_meant() {
        let fields = ["numNodes", "numProcPerNode", "image", "env", "args", "command"];
        let check = |wrong, want: Option<&str>| assert_eq!(nearest(wrong, fields), want, "{wrong}");
        check("numNode", Some("numNodes"));
        check("numnodes", Some("numNodes"));
        check("imgae", Some("image"));
        check("evn", Some("env"));
        check("comand", Some("command"));
        check("replicas", None);
        check("", None);
        check(&"numNodes".repeat(1000), None);
    }
}

//! "Did you mean": the known name that a misspelt one is nearest to.
//!
//! In: a name and the known ones. Out: the nearest, if it is near.

/// The least Jaro-Winkler similarity of names that are taken for each other.
const NEAR: f64 = 0.8;

/// Finds the known name that `name` was most likely meant to be.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|known| (strsim::jaro_winkler(&name.to_lowercase(), &known.to_lowercase()), known))
        .filter(|(similarity, _)| *similarity > NEAR)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, known)| known)
}

/// Writes names as a list in backticks.
pub fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Writes names as alternatives in backticks.
pub fn either(names: impl IntoIterator<Item = String>) -> String {
    let mut names: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} or {last}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let known = ["allow", "deny", "owner"];
        let rows =
            [("alow", Some("allow")), ("Allow", Some("allow")), ("denied", Some("deny")), ("xyz", None)];
        for (name, expected) in rows {
            assert_eq!(nearest(name, known), expected, "{name}");
        }
    }
}

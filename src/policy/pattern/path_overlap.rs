//! Entries of directories compared with each other.
//!
//! In: two patterns. Out: whether both may match something, or one matches all of the other; never a guess in the
//! direction that would mislead a reviewer. What a pattern matches is left to `path_glob`.

use std::path::Path;

use crate::policy::pattern::path_glob::PathGlob;

impl PathGlob {
    /// Says whether a directory may fit both entries; in doubt it may.
    pub fn may_overlap(&self, other: &Self) -> bool {
        let (one, two) = (self.fixed_part(), other.fixed_part());
        if !one.starts_with(two) && !two.starts_with(one) {
            return false;
        }
        match (self.literal(), other.literal()) {
            (Some(_), Some(_)) | (None, None) => true,
            (Some(dir), None) => other.may_match_in(dir),
            (None, Some(dir)) => self.may_match_in(dir),
        }
    }

    /// Says whether this entry surely matches all that another one does.
    pub fn covers(&self, other: &Self) -> bool {
        let (own, others) = (self.wildcards(), other.wildcards());
        self.matches(other.fixed_part()).is_some()
            || (own.is_some() && own == others && self.fixed_part() == other.fixed_part())
            || (own == Some("**") && others.is_some() && other.fixed_part().starts_with(self.fixed_part()))
    }

    /// Says whether this entry matches a directory, or may match one below it.
    fn may_match_in(&self, dir: &Path) -> bool {
        self.below(dir).is_some() || self.wildcards().is_some_and(|wildcards| wildcards.contains('{'))
    }

    /// How many components a matching path has; `None` where that may differ.
    pub fn depth(&self) -> Option<usize> {
        let wildcards = self.wildcards().unwrap_or_default();
        let behind = wildcards.split('/').filter(|component| !component.is_empty()).count();
        let fixed = self.fixed_part().components().count();
        (!wildcards.contains("**") && !wildcards.contains('{')).then_some(fixed + behind)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use crate::policy::pattern::Syntax;
    use crate::policy::pattern::path_glob::{PathBase, PathGlob};

    #[test]
    fn overlap_is_denied_only_where_nothing_can_fit_both() {
        let base = PathBase { launch_dir: PathBuf::from("/nowhere/launch"), home: None };
        let rows = [
            ("the same", "app", "app", true),
            ("one above the other", ".", "app", true),
            ("side by side", "app", "app-evil", false),
            ("a match", "/nowhere/srv/*", "/nowhere/srv/a/app", true),
            ("a match below", "/nowhere/srv/*/app", "/nowhere/srv/a", true),
            ("no match, and no deeper one", "/nowhere/srv/*/app", "/nowhere/srv/a/lib", false),
            ("any depth", "/nowhere/srv/**/app", "/nowhere/srv/a/lib/x", true),
            ("patterns in one directory", "/nowhere/srv/*", "/nowhere/srv/a*", true),
            ("patterns in two", "/nowhere/srv/*", "app/*", false),
        ];
        for (name, one, two, expected) in rows {
            let [one, two] = [one, two].map(|it| PathGlob::parse(it, Syntax::Wildcards, &base).unwrap());
            assert_eq!(one.may_overlap(&two), expected, "{name}");
            assert_eq!(two.may_overlap(&one), expected, "{name}, turned");
        }
    }

    #[test]
    fn cover_is_claimed_only_where_all_is_matched() {
        let base = PathBase { launch_dir: PathBuf::from("/nowhere/launch"), home: None };
        let rows = [
            ("itself", "app", "app", true),
            ("below", ".", "app", true),
            ("above", "app", ".", false),
            ("a pattern below a directory", ".", "a*", true),
            ("a directory that a pattern matches", "/nowhere/srv/*", "/nowhere/srv/a", true),
            ("the same pattern", "/nowhere/srv/*", "/nowhere/srv/*", true),
            ("a narrower pattern at any depth", "/nowhere/srv/**", "/nowhere/srv/*/app", true),
            ("a directory at any depth, itself not below", "/nowhere/srv/**", "/nowhere/srv", false),
            ("a pattern that matches less", "/nowhere/srv/a*", "/nowhere/srv/*", false),
        ];
        for (name, one, two, expected) in rows {
            let [one, two] = [one, two].map(|it| PathGlob::parse(it, Syntax::Wildcards, &base).unwrap());
            assert_eq!(one.covers(&two), expected, "{name}");
        }
    }
}

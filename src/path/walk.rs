//! A project's tree, level by level, within a bound.
//!
//! In: an open directory. Out: each name beneath it, to a visitor who says where to go on. `node_modules` and symlinks
//! are never entered.

use crate::path::{
    RelPath,
    handle::{DirHandle, EntryKind},
};

/// So many directories are looked into.
const DIRECTORIES: usize = 5_000;

/// Whether to look into a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descend {
    /// Its entries are visited too.
    Into,
    /// They are not.
    Past,
}

/// Visits what is beneath a directory, the nearest first. What can't be listed is passed over.
pub fn walk(root: &DirHandle, mut visit: impl FnMut(&RelPath, EntryKind) -> Descend) {
    let mut waiting = std::collections::VecDeque::from([None::<RelPath>]);
    for _ in 0..DIRECTORIES {
        let Some(directory) = waiting.pop_front() else { break };
        for (name, kind) in root.list(directory.as_ref()).unwrap_or_default() {
            let path = match &directory {
                Some(parent) => parent.join(&name),
                None => name.to_str().and_then(|name| RelPath::parse(name).ok()),
            };
            let Some(path) = path else { continue };
            let into = visit(&path, kind) == Descend::Into;
            if into && kind == EntryKind::Directory && name != "node_modules" {
                waiting.push_back(Some(path));
            }
        }
    }
}

/// Goes into what is not hidden.
pub fn unless_hidden(path: &RelPath) -> Descend {
    let name = path.as_path().file_name().unwrap_or_default();
    if name.as_encoded_bytes().starts_with(b".") { Descend::Past } else { Descend::Into }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_visited_level_by_level_and_not_through_links_or_packages() {
        let root = tempfile::tempdir().unwrap();
        for directory in ["a/deep", "node_modules/package", ".hidden/inside"] {
            std::fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        std::os::unix::fs::symlink("a", root.path().join("link")).unwrap();
        let handle = DirHandle::open(root.path()).unwrap();
        let mut seen = Vec::new();
        walk(&handle, |path, _| {
            seen.push(path.to_string());
            unless_hidden(path)
        });
        assert_eq!(seen, [".hidden", "a", "link", "node_modules", "a/deep"]);
    }
}

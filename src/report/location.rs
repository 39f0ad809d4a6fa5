//! Paths as a report names them.
//!
//! In: a path that a report holds, maybe of another machine. Out: the same path made relative to a project, by its words
//! alone. Whether it exists, and whether it may be opened, is left to containment.

use std::fmt;
use std::path::Path;

use crate::text::printable;

/// A path as a report names it: unchecked, maybe of another machine; shown only printable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReportedPath(String);

impl ReportedPath {
    /// Takes a path from a report, as it stands there.
    pub fn new(path: impl Into<String>) -> Self {
        Self(path.into())
    }

    /// Gives the path as it stands in the report: to find a file, not to show.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// Tells whether the path is absolute, on this system or on Windows.
    pub fn is_absolute(&self) -> bool {
        is_absolute(&self.0)
    }

    /// Appends a relative path; an absolute one replaces it.
    #[must_use]
    pub fn join(&self, path: &str) -> Self {
        if is_absolute(path) {
            return Self::new(path);
        }
        Self(format!("{}/{path}", self.0.trim_end_matches(['/', '\\'])))
    }

    /// Writes the path relative to a directory, by its words alone: `.` and `..` are resolved, links are not.
    ///
    /// A path outside the directory starts with `../`; one that is no absolute path stays as it is.
    pub fn relative_to(&self, directory: &Path) -> String {
        let directory = directory.to_string_lossy();
        if !is_absolute(&self.0) || !is_absolute(&directory) {
            return self.to_string();
        }
        let (path, base) = (components(&self.0), components(&directory));
        let common = path.iter().zip(&base).take_while(|(one, other)| one == other).count();
        let mut relative = vec![".."; base.len() - common];
        relative.extend(path.iter().skip(common));
        let relative = if relative.is_empty() { ".".to_owned() } else { relative.join("/") };
        printable(&relative).into_owned()
    }
}

impl fmt::Display for ReportedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&self.0))
    }
}

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file.
    pub file: ReportedPath,
    /// The line, from 1; 0 where unknown.
    pub line: u32,
    /// The column, from 1; 0 where unknown.
    pub column: u32,
}

/// Tells an absolute path, of this system or of Windows (`C:\x`, `C:/x`).
fn is_absolute(path: &str) -> bool {
    let mut start = path.chars();
    match (start.next(), start.next(), start.next()) {
        (Some('/'), ..) => true,
        (Some(drive), Some(':'), Some('/' | '\\')) => drive.is_ascii_alphabetic(),
        _ => false,
    }
}

/// Splits an absolute path into its names; `..` above the root stays there.
fn components(path: &str) -> Vec<&str> {
    let separators: &[char] = if path.starts_with('/') { &['/'] } else { &['/', '\\'] };
    let mut names = Vec::new();
    for name in path.split(separators) {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_made_relative_by_its_words() {
        for (rule, root, file, directory, expected) in [
            ("in the project", "/project/tests", "a.spec.ts", "/project", "tests/a.spec.ts"),
            ("the project is the root", "/project", "a.spec.ts", "/project/", "a.spec.ts"),
            ("outside of it", "/project/tests", "../../x/a.spec.ts", "/project", "../x/a.spec.ts"),
            ("a name that starts alike", "/project2", "a.spec.ts", "/project", "../project2/a.spec.ts"),
            ("elsewhere", "/ci/work", "a.spec.ts", "/home/me", "../../ci/work/a.spec.ts"),
            ("an absolute file", "/project", "/other/a.spec.ts", "/project", "../other/a.spec.ts"),
            ("the directory itself", "/project", ".", "/project", "."),
            ("dots in between", "/project/./tests/../tests", "a.ts", "/project", "tests/a.ts"),
            ("a path of Windows", "C:\\ci\\tests", "a.spec.ts", "/project", "../C:/ci/tests/a.spec.ts"),
            ("no absolute root", "tests", "a.spec.ts", "/project", "tests/a.spec.ts"),
            ("control characters", "/project", "a\u{1b}[31m.ts", "/project", "a.ts"),
        ] {
            let path = ReportedPath::new(root).join(file);
            assert_eq!(path.relative_to(Path::new(directory)), expected, "{rule}");
        }
    }
}

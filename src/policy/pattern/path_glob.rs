//! Directories of the policy: a literal directory, or a glob.
//!
//! In: an entry and the directories that it may be relative to. Out: [`PathGlob`], which is asked about canonical
//! paths. Opening the directory of a call and naming it is left to `crate::path`.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::path::locate::{Found, Location, locate};
use crate::policy::pattern::{PatternError, Syntax};

/// What relative entries and `~` mean.
#[derive(Clone, Debug)]
pub struct PathBase {
    /// The directory that the server was started in, canonical.
    pub launch_dir: PathBuf,
    /// The user's home from the user database, if there is one.
    pub home: Option<PathBuf>,
}

/// A directory and all below it, or every directory that a glob matches and all below them.
///
/// `*` never crosses `/`, case counts, a backslash takes a character as it is. What stands before the first wildcard
/// is made canonical when the policy is compiled; the rest is compared with canonical paths, where neither symlinks nor
/// `..` remain.
#[derive(Clone, Debug)]
pub struct PathGlob {
    written: String,
    /// The literal directory, or the part before the first wildcard; canonical.
    fixed: Location,
    /// The name by which `fixed` was written, where a symlink led from it elsewhere.
    alias: Option<PathBuf>,
    wildcards: Option<Wildcards>,
}

/// The part of an entry from its first wildcard on.
#[derive(Clone, Debug)]
struct Wildcards {
    /// Its components.
    written: String,
    /// The whole entry, to compare canonical paths with.
    matcher: GlobMatcher,
}

impl PathGlob {
    /// Parses an entry.
    ///
    /// # Errors
    /// [`PatternError`] for an empty entry, control characters, `~name`, a variable, a path of Windows, `..` behind a
    /// wildcard, a glob that can't be read, and a path that can't be looked up.
    pub fn parse(text: &str, syntax: Syntax, base: &PathBase) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        if text.chars().any(char::is_control) {
            return Err(PatternError::ControlCharacter(text.to_owned()));
        }
        if is_of_windows(text) {
            return Err(PatternError::Windows(text.to_owned()));
        }
        if text.split('/').any(names_variable) {
            return Err(PatternError::Variable(text.to_owned()));
        }
        let (fixed, pattern) = match syntax {
            Syntax::Literal => (text.to_owned(), None),
            Syntax::Wildcards => split_at_wildcard(text),
        };
        let absolute = absolute(text, &fixed, base)?;
        let fixed = locate(&absolute).map_err(|source| {
            let text = text.to_owned();
            // The parent of what is not there can't be told: it may be a symlink once it is.
            if source.kind() == ErrorKind::InvalidInput && text.split('/').any(|part| part == "..") {
                PatternError::ParentOfMissing(text)
            } else {
                PatternError::LookUp { text, source }
            }
        })?;
        let alias = Some(without_dots(&absolute)).filter(|named| *named != fixed.path);
        let wildcards = pattern.map(|pattern| compile(text, &fixed.path, pattern)).transpose()?;
        Ok(Self { written: text.to_owned(), fixed, alias, wildcards })
    }

    /// Gives the nearest directory, from the canonical path itself upwards, that this entry matches.
    ///
    /// Whole components are compared: `/srv/app` does not match `/srv/app-evil`.
    pub fn matches(&self, canonical: &Path) -> Option<PathBuf> {
        match &self.wildcards {
            None => canonical.starts_with(&self.fixed.path).then(|| self.fixed.path.clone()),
            Some(Wildcards { matcher, .. }) => {
                // The root is the only directory whose name is an empty component; no wildcard means that.
                let mut named = canonical.ancestors().filter(|ancestor| ancestor.parent().is_some());
                named.find(|ancestor| matcher.is_match(ancestor)).map(PathBuf::from)
            }
        }
    }

    /// Gives what this entry matches at or below a canonical directory, as a directory or a glob; `None` for nothing.
    ///
    /// What a glob says of places beside the directory is left out: they may be nobody's business. Of a glob with `**`
    /// above the directory, what it matches with a part of the directory's own name is left out too.
    pub fn below(&self, directory: &Path) -> Option<String> {
        if self.matches(directory).is_some() {
            return Some(directory.display().to_string());
        }
        if self.fixed.path.starts_with(directory) {
            return Some(self.to_string());
        }
        let glob = self.wildcards.as_ref()?.matcher.glob().glob();
        let mut parts = glob.split('/').filter(|part| !part.is_empty());
        let names = directory.components().filter(|part| matches!(part, Component::Normal(_)));
        let here = globset::escape(directory.to_str()?);
        for name in names {
            let part = parts.next()?;
            if part.contains("**") {
                let rest: Vec<_> = std::iter::once(part).chain(parts).collect();
                return Some(format!("{here}/{}", rest.join("/")));
            }
            // Alternatives that cross a `/` come apart here and match nothing: then nothing is said.
            let part = GlobBuilder::new(part).literal_separator(true).build().ok()?;
            if !part.compile_matcher().is_match(name) {
                return None;
            }
        }
        Some(format!("{here}/{}", parts.collect::<Vec<_>>().join("/")))
    }

    /// The canonical directory, where the entry has no wildcards.
    pub fn literal(&self) -> Option<&Path> {
        self.wildcards.is_none().then_some(self.fixed.path.as_path())
    }

    /// The canonical directory before the first wildcard; the whole one where there is none.
    pub fn fixed_part(&self) -> &Path {
        &self.fixed.path
    }

    /// What was found at [`Self::fixed_part`] when the policy was compiled.
    pub const fn found(&self) -> Found {
        self.fixed.found
    }

    /// The absolute name by which [`Self::fixed_part`] was written, where a symlink led from it elsewhere.
    pub fn alias(&self) -> Option<&Path> {
        self.alias.as_deref()
    }

    /// The components from the first wildcard on; `None` for a literal directory.
    pub fn wildcards(&self) -> Option<&str> {
        self.wildcards.as_ref().map(|wildcards| wildcards.written.as_str())
    }

    /// The entry as it was written.
    pub fn as_written(&self) -> &str {
        &self.written
    }
}

impl fmt::Display for PathGlob {
    /// The resolved form: the canonical directory, or the whole glob that canonical paths are compared with.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.wildcards {
            None => write!(out, "{}", self.fixed.path.display()),
            Some(Wildcards { matcher, .. }) => write!(out, "{}", matcher.glob().glob()),
        }
    }
}

/// Splits an entry into the components before the first wildcard, without their backslashes, and the rest.
fn split_at_wildcard(text: &str) -> (String, Option<&str>) {
    let mut fixed = String::new();
    let mut component = String::new();
    let mut component_start = 0;
    let mut escaped = false;
    for (byte, character) in text.char_indices() {
        match character {
            _ if escaped => {
                component.push(character);
                escaped = false;
            }
            '\\' => escaped = true,
            '*' | '?' | '[' | '{' => return (fixed, text.get(component_start..)),
            '/' => {
                fixed.push_str(&component);
                fixed.push('/');
                component.clear();
                component_start = byte + 1;
            }
            _ => component.push(character),
        }
    }
    if escaped {
        // A backslash at the end escapes nothing; globset refuses it with a reason.
        return (fixed, text.get(component_start..));
    }
    fixed.push_str(&component);
    (fixed, None)
}

/// Says whether a path starts with a drive or a host, as on Windows.
fn is_of_windows(text: &str) -> bool {
    let drive = text.strip_prefix(|first: char| first.is_ascii_alphabetic());
    drive.is_some_and(|rest| rest.starts_with(":/") || rest.starts_with(":\\")) || text.starts_with("\\\\")
}

/// Says whether a component is `$NAME`, `${NAME}` or `%NAME%`, or holds `${`: who writes that expects it to be expanded.
fn names_variable(component: &str) -> bool {
    let dollar = component
        .strip_prefix('$')
        .is_some_and(|name| name.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic()));
    let percent = component.len() > 2 && component.starts_with('%') && component.ends_with('%');
    dollar || percent || component.replace("\\$", "").contains("${")
}

/// Expands `~` and makes a fixed part absolute; an empty one is the launch directory.
fn absolute(text: &str, fixed: &str, base: &PathBase) -> Result<PathBuf, PatternError> {
    let Some(rest) = fixed.strip_prefix('~') else {
        return Ok(base.launch_dir.join(fixed));
    };
    match (&base.home, rest) {
        (Some(home), "") => Ok(home.clone()),
        (Some(home), rest) if rest.starts_with('/') => Ok(home.join(rest.trim_start_matches('/'))),
        (Some(_) | None, _) => Err(PatternError::Home(text.to_owned())),
    }
}

/// The path without `.` and `..`, as if no component were a symlink.
fn without_dots(absolute: &Path) -> PathBuf {
    let mut path = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                path.pop();
            }
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => path.push(component),
        }
    }
    path
}

fn compile(text: &str, fixed: &Path, pattern: &str) -> Result<Wildcards, PatternError> {
    let bad = |reason: String| PatternError::Glob { text: text.to_owned(), reason };
    if text.starts_with('~') && fixed_is_unexpanded(text) {
        return Err(PatternError::Home(text.to_owned()));
    }
    if pattern.split(['/', ',', '{', '}']).any(|part| part == "..") {
        return Err(PatternError::ParentAfterWildcard(text.to_owned()));
    }
    let fixed = fixed.to_str().ok_or_else(|| bad("the directory before it is not UTF-8".to_owned()))?;
    let rest: Vec<_> = pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let written = rest.join("/");
    let whole = format!("{}/{written}", globset::escape(fixed.trim_end_matches('/')));
    GlobBuilder::new(&whole)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map(|glob| Wildcards { written, matcher: glob.compile_matcher() })
        .map_err(|error| bad(error.kind().to_string()))
}

/// Says whether an entry such as `~*/x` has its `~` within the wildcard component, where it would be no home.
fn fixed_is_unexpanded(text: &str) -> bool {
    !matches!(text.strip_prefix('~').map(|rest| rest.starts_with('/')), Some(true))
}

/// Parses a path within a project, as the entries of `sandbox.outputs` and `sandbox.protect` are.
///
/// # Errors
/// [`PatternError`] for an empty or absolute path, `.`, `..`, control characters and wildcards; a backslash takes a
/// character as it is.
pub fn parse_within_project(text: &str) -> Result<PathBuf, PatternError> {
    if text.is_empty() {
        return Err(PatternError::Empty);
    }
    if text.chars().any(char::is_control) {
        return Err(PatternError::ControlCharacter(text.to_owned()));
    }
    let (plain, None) = split_at_wildcard(text) else {
        return Err(PatternError::Wildcard(text.to_owned()));
    };
    let mut path = PathBuf::new();
    for component in Path::new(&plain).components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
                return Err(PatternError::NotWithin(text.to_owned()));
            }
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::{PathBase, PathGlob, parse_within_project};
    use crate::path::locate::locate;
    use crate::policy::pattern::{PatternError, Syntax};

    /// Directories `launch/{app,app-evil,my[app]}`, `srv/{a,b}/app` and `home`, a symlink `launch/link` to `srv/a`.
    fn world() -> (tempfile::TempDir, PathBase) {
        let root = tempfile::tempdir().unwrap();
        let path = locate(root.path()).unwrap().path;
        for dir in ["launch/app", "launch/app-evil", "launch/my[app]", "srv/a/app", "srv/b/app", "home/work"]
        {
            std::fs::create_dir_all(path.join(dir)).unwrap();
        }
        symlink("../srv/a", path.join("launch/link")).unwrap();
        let base = PathBase { launch_dir: path.join("launch"), home: Some(path.join("home")) };
        (root, base)
    }

    #[test]
    fn entry_matches_a_directory_and_all_below_it_and_nothing_else() {
        let (_root, base) = world();
        let top = base.launch_dir.parent().unwrap().to_owned();
        let top_text = top.to_str().unwrap();
        let rows = [
            ("itself", "app", "launch/app", Some("launch/app")),
            ("below", "app", "launch/app/x/y", Some("launch/app")),
            ("a name that only starts alike", "app", "launch/app-evil", None),
            ("the parent", "app", "launch", None),
            ("the launch directory", ".", "launch/app", Some("launch")),
            ("a trailing slash", "app/", "launch/app/x", Some("launch/app")),
            ("`..` before the end", "../srv/a", "srv/a/app", Some("srv/a")),
            ("a symlink means its target", "link", "srv/a/app", Some("srv/a")),
            ("the home", "~", "home/work", Some("home")),
            ("below the home", "~/work", "home/work/x", Some("home/work")),
            ("an absolute path", "{top}/srv/b", "srv/b", Some("srv/b")),
            ("a directory made later", "later/x", "launch/later/x/y", Some("launch/later/x")),
            ("one star is one component", "../srv/*/app", "srv/b/app/x", Some("srv/b/app")),
            ("one star does not cross a slash", "../*/app", "srv/b/app", None),
            ("two stars cross", "../**/app", "srv/b/app/deep", Some("srv/b/app")),
            ("the nearest match counts", "../**", "srv/b/app/deep", Some("srv/b/app/deep")),
            ("a star at the end", "app*", "launch/app-evil/x", Some("launch/app-evil")),
            ("case counts", "APP*", "launch/app-evil", None),
            ("alternatives", "../srv/{a,b}", "srv/b/x", Some("srv/b")),
            ("a class", "../srv/[a]", "srv/b", None),
            ("an escaped dollar is literal", "\\$HOME", "launch/$HOME/x", Some("launch/$HOME")),
            ("a price is no variable", "$5", "launch/$5", Some("launch/$5")),
            ("an escaped wildcard is literal", "my\\[app\\]", "launch/my[app]", Some("launch/my[app]")),
            (
                "wildcards of a directory before it are escaped",
                "my\\[app\\]/*",
                "launch/my[app]/x",
                Some("launch/my[app]/x"),
            ),
            ("wildcards below a symlink", "link/*", "srv/a/app", Some("srv/a/app")),
            ("wildcards below the home", "~/*", "home/work/x", Some("home/work")),
            ("stars do not mean the directory above them", "../srv/**", "srv", None),
            ("dots and double slashes behind a wildcard", "../s*/.//a", "srv/a/app", Some("srv/a")),
        ];
        for (name, entry, path, expected) in rows {
            let entry = entry.replace("{top}", top_text);
            let glob = PathGlob::parse(&entry, Syntax::Wildcards, &base).unwrap();
            assert_eq!(glob.matches(&top.join(path)), expected.map(|path| top.join(path)), "{name}");
        }
    }

    #[test]
    fn what_an_entry_matches_below_a_directory_is_told_without_its_neighbours() {
        let (_root, base) = world();
        let top = base.launch_dir.parent().unwrap().to_owned();
        let rows = [
            ("a directory below", "../srv/a", "srv", Some("srv/a")),
            ("a directory above", "../srv", "srv/a", Some("srv/a")),
            ("a directory beside", "../srv/a", "srv/b", None),
            ("a glob from here", "../srv/a/*", "srv/a", Some("srv/a/*")),
            ("a glob above", "../srv/{a,b}/secret", "srv/a", Some("srv/a/secret")),
            ("a glob above that means another", "../srv/{b,c}/secret", "srv/a", None),
            ("a glob for all of it", "../srv/*", "srv/a", Some("srv/a")),
            ("a glob that goes elsewhere", "../srv/*/lib", "srv/a/app", None),
            ("any depth", "../**/secret", "srv/a", Some("srv/a/**/secret")),
            ("alternatives that cross a slash", "../{srv/a,srv/b}/secret", "srv/a", None),
        ];
        for (name, entry, directory, expected) in rows {
            let glob = PathGlob::parse(entry, Syntax::Wildcards, &base).unwrap();
            let expected = expected.map(|path| top.join(path).display().to_string());
            assert_eq!(glob.below(&top.join(directory)), expected, "{name}");
        }
    }

    #[test]
    fn entry_covers_only_what_it_certainly_matches() {
        let (_root, base) = world();
        let parse = |entry| PathGlob::parse(entry, Syntax::Wildcards, &base).unwrap();
        // covers, may meet
        let rows = [
            ("../srv", "../srv/a", (true, true)),
            ("../srv/a", "../srv", (false, true)),
            ("../srv/a", "../srv/b", (false, false)),
            ("../srv", "../srv/*/app", (true, true)),
            ("../srv/*", "../srv/a/app", (true, true)),
            ("../srv/*/app", "../srv/a", (false, true)),
            ("../srv/*/app", "../srv/*/app", (true, true)),
            ("../srv/*/app", "../srv/a/*", (false, true)),
            ("../srv/*", "../home/*", (false, false)),
        ];
        for (one, other, expected) in rows {
            let (one, other) = (parse(one), parse(other));
            assert_eq!((one.covers(&other), one.may_overlap(&other)), expected, "{one} and {other}");
            assert_eq!(other.may_overlap(&one), expected.1, "{other} and {one}");
        }
    }

    #[test]
    fn wildcard_never_means_the_root() {
        let (_root, base) = world();
        for entry in ["/*", "/**", "/{,x}", "/?*"] {
            let Ok(glob) = PathGlob::parse(entry, Syntax::Wildcards, &base) else { continue };
            assert_eq!(glob.matches(Path::new("/")), None, "{entry}");
        }
        let root = PathGlob::parse("/", Syntax::Wildcards, &base).unwrap();
        assert!(root.matches(Path::new("/")).is_some());
    }

    #[test]
    fn item_of_a_variable_is_literal() {
        let (_root, base) = world();
        let glob = PathGlob::parse("my[app]", Syntax::Literal, &base).unwrap();
        assert!(glob.matches(&base.launch_dir.join("my[app]/x")).is_some());
        let glob = PathGlob::parse("app*", Syntax::Literal, &base).unwrap();
        assert!(glob.matches(&base.launch_dir.join("app-evil")).is_none());
    }

    #[test]
    fn entry_that_means_nothing_is_refused() {
        let (_root, base) = world();
        let rows = [
            ("empty", ""),
            ("NUL", "a\0b"),
            ("escape", "a\u{1b}b"),
            ("another user's home", "~bob/x"),
            ("`~` in a wildcard", "~*/x"),
            ("`..` behind a wildcard", "*/../x"),
            ("`..` in alternatives", "{..,a}/x"),
            ("unclosed class", "a[b"),
            ("unclosed alternatives", "a{b,c"),
            ("a backslash at the end", "a\\"),
            ("a variable of a shell", "$HOME/x"),
            ("a variable within a component", "e2e-${TEAM}/x"),
            ("a variable of Windows", "%APPDATA%/x"),
            ("a drive", r"C:\x"),
            ("a drive with slashes", "c:/x"),
            ("a host of Windows", r"\\host\share"),
            ("`..` behind nothing", "nothing/../x"),
        ];
        for (name, entry) in rows {
            assert!(PathGlob::parse(entry, Syntax::Wildcards, &base).is_err(), "{name}");
        }
        let homeless = PathBase { home: None, ..base };
        assert!(matches!(PathGlob::parse("~", Syntax::Wildcards, &homeless), Err(PatternError::Home(_))));
    }

    #[test]
    fn alias_is_known_only_where_a_symlink_led_elsewhere() {
        let (_root, base) = world();
        let rows = [
            ("a symlink", "link/app", Some("link/app")),
            ("`..` behind a symlink", "link/..", Some("")),
            ("wildcards behind a symlink", "link/*", Some("link")),
            ("dots and slashes", "./app//../app/", None),
            ("a directory made later", "later/x", None),
        ];
        for (name, entry, expected) in rows {
            let glob = PathGlob::parse(entry, Syntax::Wildcards, &base).unwrap();
            assert_eq!(glob.alias(), expected.map(|alias| base.launch_dir.join(alias)).as_deref(), "{name}");
        }
    }

    #[test]
    fn path_within_a_project_can_not_leave_it() {
        assert_eq!(parse_within_project("playwright/.auth/").unwrap(), Path::new("playwright/.auth"));
        assert_eq!(parse_within_project(r"app/\[id]").unwrap(), Path::new("app/[id]"));
        for text in ["", "/x", "..", "a/../b", "./a", ".", "a\0", "dist-*", "a?", "{a,b}"] {
            assert!(parse_within_project(text).is_err(), "{text}");
        }
    }
}

//! What is executed: a value that tests compare whole and that travels to the helper.
//!
//! In: what others computed. Out: a program with all that it gets. Building it is left to `runner`, executing it to
//! `confine`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::sandbox::os_text;

/// A program, its arguments, and the whole of its environment.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invocation {
    /// The file to execute: an absolute path; `PATH` is not searched.
    #[serde(with = "os_text::one")]
    pub program: PathBuf,
    /// The arguments after the program's name.
    #[serde(with = "os_text::list")]
    pub argv: Vec<OsString>,
    /// All variables that the program gets; nothing is inherited.
    #[serde(with = "os_text::pairs")]
    pub env: BTreeMap<OsString, OsString>,
    /// The working directory, for show: the helpers are started in it by its open handle.
    #[serde(with = "os_text::one")]
    pub cwd: PathBuf,
}

/// Shows the names of variables, never their values.
impl fmt::Debug for Invocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Invocation")
            .field("program", &self.program)
            .field("argv", &self.argv)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("cwd", &self.cwd)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    fn invocation() -> Invocation {
        Invocation {
            program: "/usr/bin/node".into(),
            argv: vec!["cli.js".into(), OsString::from_vec(vec![b'a', 0xff])],
            env: BTreeMap::from([("TOKEN".into(), "hush".into())]),
            cwd: "/project".into(),
        }
    }

    #[test]
    fn debug_shows_names_of_variables_and_no_values() {
        let shown = format!("{:?}", invocation());
        assert!(shown.contains("TOKEN") && !shown.contains("hush"), "{shown}");
    }

    #[test]
    fn an_argument_that_is_no_utf8_survives_the_journey() {
        let line = serde_json::to_string(&invocation()).expect("serializes");
        assert_eq!(serde_json::from_str::<Invocation>(&line).expect("parses"), invocation());
    }
}

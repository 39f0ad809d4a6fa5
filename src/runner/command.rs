//! From terms to the command that is run: argument list and environment, as a value.
//!
//! In: the terms of an allowed run, what it is started with, the server's own environment. Out: an [`Invocation`].
//! Starting it is left to `handle`.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::Path,
};

use thiserror::Error;

use crate::{
    install::PlaywrightVersion,
    policy::{
        confinement::SandboxMode,
        decision::RunTerms,
        request::run_tests::{Headed, UpdateSnapshots, Workers},
        source::environment::Environment,
        toolchains::BROWSERS,
    },
    runner::spec::Filter,
    sandbox::{invocation::Invocation, plan::Places},
};

/// Why an argument can't be passed to the installed Playwright.
#[derive(Debug, Error)]
pub enum CommandError {
    /// The installed version has no such mode of `--update-snapshots`.
    #[error("`updateSnapshots: \"{mode}\"` needs Playwright 1.50, and {version} is installed")]
    SnapshotMode {
        /// The mode asked for.
        mode: &'static str,
        /// The version installed.
        version: PlaywrightVersion,
    },
}

/// Builds the command of a run.
///
/// # Errors
/// [`CommandError`] when the installed Playwright can't do what was asked.
pub fn invocation(
    terms: &RunTerms,
    filter: Option<&Filter>,
    places: Places<'_>,
    environment: &Environment,
) -> Result<Invocation, CommandError> {
    Ok(Invocation {
        program: places.installation.node.clone(),
        argv: arguments(terms, filter, places)?,
        env: variables(terms, places, environment),
        cwd: places.project.path().to_owned(),
    })
}

/// Each option is one `--name=value`, so that no value is taken for an option; there is never a bare `--`.
fn arguments(
    terms: &RunTerms,
    filter: Option<&Filter>,
    places: Places<'_>,
) -> Result<Vec<OsString>, CommandError> {
    let options = &terms.options;
    let mut argv: Vec<OsString> = vec![places.installation.cli.clone().into(), "test".into()];
    let mut option =
        |name: &str, value: &dyn std::fmt::Display| argv.push(format!("--{name}={value}").into());
    option("reporter", &"json");
    for project in &terms.projects {
        option("project", project);
    }
    if let Some(tag) = &options.tag {
        option("grep", tag);
    }
    if let Some(workers) = options.workers {
        match workers {
            Workers::Count(count) => option("workers", &count),
            Workers::Percent { share, .. } => option("workers", &format_args!("{share}%")),
        }
    }
    if let Some(retries) = options.retries {
        option("retries", &retries);
    }
    if let Some(failures) = options.max_failures {
        option("max-failures", &failures);
    }
    if let Some(trace) = options.trace {
        option("trace", &trace.as_str());
    }
    argv.extend(snapshots(options.update_snapshots, &places.installation.version)?.map(OsString::from));
    if options.headed == Headed::Yes {
        argv.push("--headed".into());
    }
    let mut output = OsString::from("--output=");
    output.push(&places.run.out);
    argv.push(output);
    argv.extend(filter.map(|filter| OsString::from(filter.as_str())));
    Ok(argv)
}

/// Missing snapshots are not written unless the call asks; before 1.50 the option had no modes.
fn snapshots(
    asked: Option<UpdateSnapshots>,
    version: &PlaywrightVersion,
) -> Result<Option<String>, CommandError> {
    if version.is_at_least(50) {
        let mode = asked.unwrap_or(UpdateSnapshots::None);
        return Ok(Some(format!("--update-snapshots={}", mode.as_str())));
    }
    match asked {
        None | Some(UpdateSnapshots::Missing) => Ok(None),
        Some(UpdateSnapshots::All) => Ok(Some("--update-snapshots".to_owned())),
        Some(mode @ (UpdateSnapshots::Changed | UpdateSnapshots::None)) => {
            Err(CommandError::SnapshotMode { mode: mode.as_str(), version: version.clone() })
        }
    }
}

/// The whole environment of the run, built from nothing.
fn variables(
    terms: &RunTerms,
    places: Places<'_>,
    environment: &Environment,
) -> BTreeMap<OsString, OsString> {
    let mut variables = BTreeMap::new();
    for (name, value) in environment.iter() {
        let passes = name.to_str().is_some_and(|name| terms.env.passes(name));
        if passes {
            variables.insert(name.to_owned(), value.to_owned());
        }
    }
    for (name, value) in &terms.set {
        variables.insert(name.as_str().into(), value.into());
    }
    let mut set = |name: &str, value: &OsStr| variables.insert(name.into(), value.into());
    for name in ["PLAYWRIGHT_JSON_OUTPUT_NAME", "PLAYWRIGHT_JSON_OUTPUT_FILE"] {
        set(name, places.run.report.as_os_str());
    }
    set("PW_TEST_REPORTER", places.run.reporter.as_os_str());
    for name in ["PLAYWRIGHT_HTML_OPEN", "PW_TEST_HTML_REPORT_OPEN"] {
        set(name, OsStr::new("never"));
    }
    if terms.sandbox.mode != SandboxMode::Off {
        let run = places.run;
        for (name, directory) in [
            ("HOME", run.home.as_path()),
            ("TMPDIR", &run.tmp),
            ("XDG_CACHE_HOME", &run.cache),
            ("XDG_CONFIG_HOME", &run.home.join(".config")),
            ("XDG_DATA_HOME", &run.home.join(".local/share")),
            ("XDG_STATE_HOME", &run.home.join(".local/state")),
            ("XDG_RUNTIME_DIR", &run.tmp),
            ("PLAYWRIGHT_TRANSFORM_CACHE_DIR", places.transform_cache),
            ("PWTEST_CACHE_DIR", places.transform_cache),
        ] {
            set(name, directory.as_os_str());
        }
        for name in ["TMP", "TEMP"] {
            variables.remove(OsStr::new(name));
        }
        keep_browsers(&mut variables, places.home);
    }
    variables
}

/// With another home Playwright would look for its browsers in the wrong place.
fn keep_browsers(variables: &mut BTreeMap<OsString, OsString>, home: &Path) {
    let name = OsStr::new("PLAYWRIGHT_BROWSERS_PATH");
    if !variables.contains_key(name) {
        variables.insert(name.to_owned(), home.join(BROWSERS).into());
    }
}

//! `--check-policy`: what a policy comes to, what is wrong with it, what holds here, and what would become of a call.
//!
//! In: the same inputs as the server's. Out: text for people or one JSON object, and an exit status. It compiles and
//! decides by the very code of the server, makes nothing, and runs no project code. What is told of a call is left to
//! `call`, how it is written to `human` and `json`.

mod call;
mod human;
mod json;
mod plan;
mod sinks;
mod tried;

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use serde::Serialize;

use crate::{
    cli::{
        check_policy::{call::CallAnswer, sinks::SinkAnswer, tried::Tried},
        exit,
    },
    path::handle::DirHandle,
    policy::{
        Loaded, Verdict,
        diagnostic::{Diagnostic, DiagnosticCode, Severity},
        excerpt::Style,
        expect, load,
        origin::Origin,
        source::{Inputs, environment::Environment},
    },
    run_dir::StateDir,
    text::chain,
};

/// How the answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text.
    Human,
    /// One JSON object on standard output.
    Json,
}

/// What warnings come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warnings {
    /// They are told.
    Tell,
    /// Those about the policy are an exit status of their own; those about this system are told.
    Deny,
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Options {
    /// A call to decide on, as JSON; `-` reads it from standard input.
    pub call: Option<String>,
    /// How the answer is written.
    pub format: Format,
    /// What warnings come to.
    pub warnings: Warnings,
    /// Whether diagnostics are coloured.
    pub style: Style,
}

/// All that is told.
struct Examined {
    loaded: Loaded,
    sandbox: Option<Tried>,
    sinks: Vec<SinkAnswer>,
    expectations: Option<Expectations>,
    call: Option<Result<CallAnswer, String>>,
}

/// What became of `[[expect]]`.
#[derive(Clone, Copy, Debug, Serialize)]
struct Expectations {
    count: usize,
    failed: usize,
}

/// Checks the policy; inputs that can't be had are a finding like any other.
///
/// # Errors
/// When the answer can't be written.
pub fn run(
    options: &Options,
    inputs: io::Result<Inputs>,
    out: &mut impl Write,
    err: &mut impl Write,
) -> io::Result<ExitCode> {
    let examined = match inputs {
        Ok(inputs) => examine(options, &inputs),
        Err(error) => Examined::without_inputs(&error),
    };
    match options.format {
        Format::Human => {
            human::write(out, &examined)?;
            out.flush()?;
            // Last, since a report is longer than a terminal is high.
            if !examined.loaded.diagnostics.is_empty() {
                writeln!(err, "\n{}", examined.loaded.render(options.style))?;
            }
        }
        Format::Json => json::write(out, &examined)?,
    }
    Ok(examined.exit(options.warnings))
}

fn examine(options: &Options, inputs: &Inputs) -> Examined {
    let mut loaded = load(inputs);
    let site = Site::of(inputs).map_err(|finding| loaded.add([*finding])).ok();
    let Some(policy) = loaded.policy.clone() else {
        return Examined { loaded, sandbox: None, sinks: Vec::new(), expectations: None, call: None };
    };
    let sandbox = tried::of_policy(&policy);
    let found = tried::findings(&policy, &sandbox, &loaded.diagnostics);
    loaded.add(found);
    let (sinks, broken) = sinks::look(&policy, inputs.home.as_deref());
    loaded.add(broken);
    let expectations = site.as_ref().map(|site| {
        let failures = expect::check(&policy, &site.launch);
        let counted = Expectations { count: policy.expectations().len(), failed: failures.len() };
        loaded.add(failures);
        counted
    });
    let call = options.call.as_deref().zip(site.as_ref());
    let call = call.map(|(call, site)| call::answer(call, &policy, site));
    Examined { sinks, loaded, sandbox: Some(sandbox), expectations, call }
}

/// Where the server would be.
struct Site<'a> {
    /// The directory that it would be started in.
    launch: DirHandle,
    environment: &'a Environment,
    /// The user's home.
    home: PathBuf,
    /// Where runs and caches would be kept.
    state: StateDir,
}

impl<'a> Site<'a> {
    fn of(inputs: &'a Inputs) -> Result<Self, Box<Diagnostic>> {
        let launch = DirHandle::open(&inputs.launch_dir).map_err(|error| {
            system_error(format!("the working directory can't be used: {}", chain(&error)))
        })?;
        let no_home = || system_error("this user has no home in the user database".to_owned());
        let home = inputs.home.clone().ok_or_else(no_home)?;
        let state = inputs.state_dir.as_ref().ok_or_else(no_home)?;
        let state = StateDir::named(state).map_err(|error| system_error(chain(&error)))?;
        Ok(Self { launch, environment: &inputs.environment, home, state })
    }
}

fn system_error(summary: String) -> Box<Diagnostic> {
    let finding = Diagnostic::error(DiagnosticCode::SystemError, Origin::Builtin, summary);
    Box::new(finding.hint("the server can't start here either; start it elsewhere, or as another user"))
}

impl Examined {
    /// What is told where not even the working directory or the user can be told.
    fn without_inputs(error: &io::Error) -> Self {
        let finding =
            *system_error(format!("the system does not tell the working directory or the user: {error}"));
        let loaded =
            Loaded { policy: None, layers: Vec::new(), diagnostics: vec![finding], texts: Vec::new() };
        Self { loaded, sandbox: None, sinks: Vec::new(), expectations: None, call: None }
    }

    fn count(&self, severity: Severity) -> usize {
        self.loaded.diagnostics.iter().filter(|finding| finding.severity == severity).count()
    }

    fn is_valid(&self) -> bool {
        match self.loaded.verdict() {
            Verdict::Valid | Verdict::ValidWithWarnings => true,
            Verdict::Invalid | Verdict::InputOutput => false,
        }
    }

    /// Whether there is a finding about the policy itself, and not only about this system.
    fn is_policy_questioned(&self) -> bool {
        self.loaded.diagnostics.iter().any(|finding| !finding.code.is_found_here())
    }

    fn exit(&self, warnings: Warnings) -> ExitCode {
        let verdict = self.loaded.verdict();
        match (verdict, &self.call) {
            (Verdict::Invalid, _) => exit::invalid(),
            (Verdict::InputOutput, _) | (_, Some(Err(_))) => exit::input_output(),
            (Verdict::Valid | Verdict::ValidWithWarnings, Some(Ok(answer))) if answer.is_denied() => {
                exit::denied()
            }
            (Verdict::ValidWithWarnings, _) if warnings == Warnings::Deny && self.is_policy_questioned() => {
                exit::warnings()
            }
            (Verdict::Valid | Verdict::ValidWithWarnings, _) => exit::valid(),
        }
    }
}

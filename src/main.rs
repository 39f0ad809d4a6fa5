//! The program: from the argument list to one of its jobs.
//!
//! `playwright-warden` serves a client on stdio; `--check-policy` explains a policy; `supervise` and `confine` are this
//! same program as the helpers of a run.

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, OnceLock},
};

use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum, error::ErrorKind};
use playwright_warden::{
    audit::{AuditLog, context::Context},
    cli::{
        audit::{self, AuditArguments},
        check_policy::{self, Format, Options, Warnings},
        exit, print,
    },
    digest::shortened,
    gate::Gate,
    path::handle::DirHandle,
    policy::{
        self, Verdict,
        excerpt::Style,
        limits::Limit,
        source::{Inputs, LayerSource, environment::Environment},
    },
    run_dir::StateDir,
    runner::{
        handle::Runner,
        supervise,
        tracker::{RunTracker, TrackerLimits},
    },
    sandbox::confine,
    server::{self, Warden},
    text::chain,
};
use tokio::sync::Semaphore;

/// Runs a project's Playwright tests for an AI agent, under a policy and in a sandbox.
///
/// Without options it is an MCP server on standard input and output.
#[derive(Debug, Parser)]
#[command(version)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of a command line")]
struct Arguments {
    #[command(subcommand)]
    job: Option<Job>,
    /// A policy file. The one in `~/.config/playwright-warden` is read first; beside it, this one only takes away.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Where runs and caches are kept; default ~/.local/state/playwright-warden.
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Explain the policy instead of serving: its layers, its faults, what it comes to, what this system enforces.
    #[arg(long)]
    check_policy: bool,
    /// Also tell whether this call would be allowed, and why; `-` reads it from standard input.
    #[arg(long, value_name = "JSON", requires = "check_policy", conflicts_with = "print")]
    call: Option<String>,
    /// How --check-policy writes.
    #[arg(long, value_enum, default_value_t = FormatArgument::Human, requires = "check_policy", conflicts_with = "print")]
    format: FormatArgument,
    /// Let warnings of --check-policy about the policy be an exit status of 3; those about this system are told alone.
    #[arg(long, requires = "check_policy", conflicts_with = "print")]
    deny_warnings: bool,
    /// Print the environment variables that no policy lets a call set.
    #[arg(long, conflicts_with = "check_policy", group = "print")]
    print_denylist: bool,
    /// Print the JSON Schema of a policy file, for editors.
    #[arg(long, conflicts_with = "check_policy", group = "print")]
    print_schema: bool,
}

impl Arguments {
    const fn asks_of_the_policy(&self) -> bool {
        self.check_policy || self.print_denylist || self.print_schema
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatArgument {
    Human,
    Json,
}

#[derive(Clone, Debug, Subcommand)]
enum Job {
    /// Verify or show an audit log.
    Audit(AuditArguments),
    /// Supervise one run; started by the server.
    #[command(hide = true)]
    Supervise,
    /// Confine this process and become another program; started by `supervise`.
    #[command(hide = true)]
    Confine,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match &arguments.job {
        Some(Job::Supervise) => return supervise::main(),
        Some(Job::Confine) => return confine::main(),
        Some(Job::Audit(_)) if arguments.asks_of_the_policy() => Arguments::command()
            .error(
                ErrorKind::ArgumentConflict,
                "`audit` reads a log alone; it takes no --check-policy and no --print-...",
            )
            .exit(),
        Some(Job::Audit(arguments)) => audit::run(arguments, &mut io::stdout().lock()),
        None if arguments.print_denylist => {
            print::print_denylist(&mut io::stdout().lock()).map_err(Into::into)
        }
        None if arguments.print_schema => print::print_schema(&mut io::stdout().lock()).map_err(Into::into),
        None if arguments.check_policy => check(&arguments),
        None => serve(&arguments),
    };
    outcome.unwrap_or_else(|error| {
        // Whoever read the output has seen enough.
        if error.downcast_ref().map(io::Error::kind) == Some(io::ErrorKind::BrokenPipe) {
            return ExitCode::SUCCESS;
        }
        // Standard error may be closed; there is no other place for it.
        drop(writeln!(io::stderr(), "playwright-warden: {}", chain(&*error)));
        exit::input_output()
    })
}

type Outcome = Result<ExitCode, Box<dyn std::error::Error>>;

fn check(arguments: &Arguments) -> Outcome {
    let inputs = Inputs::of_this_process(arguments.policy.clone(), arguments.state_dir.clone());
    let options = Options {
        call: arguments.call.clone(),
        format: match arguments.format {
            FormatArgument::Human => Format::Human,
            FormatArgument::Json => Format::Json,
        },
        warnings: if arguments.deny_warnings { Warnings::Deny } else { Warnings::Tell },
        style: style(inputs.as_ref().ok().map(|inputs| &inputs.environment)),
    };
    Ok(check_policy::run(&options, inputs, &mut io::stdout().lock(), &mut io::stderr().lock())?)
}

/// Colour only for a terminal whose user did not ask for none: <https://no-color.org>.
fn style(environment: Option<&Environment>) -> Style {
    let no_colour = environment.and_then(|environment| environment.get("NO_COLOR"));
    let is_wanted = no_colour.is_none_or(std::ffi::OsStr::is_empty);
    if is_wanted && io::stderr().is_terminal() { Style::Coloured } else { Style::Plain }
}

fn serve(arguments: &Arguments) -> Outcome {
    let inputs = Inputs::of_this_process(arguments.policy.clone(), arguments.state_dir.clone())?;
    let loaded = policy::load(&inputs);
    let Some(policy) = loaded.policy.as_ref().map(|policy| Arc::new(policy.clone())) else {
        writeln!(io::stderr(), "{}", loaded.render(style(Some(&inputs.environment))))?;
        writeln!(io::stderr(), "playwright-warden: this policy is not valid, so the server does not start")?;
        return Ok(match loaded.verdict() {
            Verdict::InputOutput => exit::input_output(),
            Verdict::Valid | Verdict::ValidWithWarnings | Verdict::Invalid => exit::invalid(),
        });
    };
    let home = inputs.home.clone().ok_or("this user has no home directory")?;
    let state = inputs.state_dir.clone().ok_or("this user has no home directory")?;
    let state = StateDir::open(&state)?;
    let stay = state.sweep()?;
    if stay > 0 {
        writeln!(io::stderr(), "playwright-warden: {stay} directories of earlier runs can't be removed")?;
    }
    let limits = policy.limits();
    let tracker = RunTracker::new(TrackerLimits {
        active_runs: number(limits.active_runs().value),
        kept_runs: number(limits.kept_runs().value),
        kept_bytes: limits.kept_bytes().value.bytes().unwrap_or(u64::MAX),
    });
    banner(&policy, &inputs.launch_dir, loaded.diagnostics.len())?;
    let audit = Arc::new(AuditLog::new(policy.audit(), inputs.home.as_deref(), Context::of(&policy)));
    let warden = Warden {
        gate: Gate::new(policy, Arc::clone(&audit)),
        launch: DirHandle::open(&inputs.launch_dir)?,
        environment: inputs.environment,
        home,
        state,
        runner: Runner::of_this_program(),
        tracker,
        workers: Semaphore::new(Warden::WORKERS),
        probed: OnceLock::new(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Beside the connection, which a slow disk must not keep waiting.
    let starting = Arc::clone(&audit);
    drop(runtime.spawn_blocking(move || starting.start()));
    let served = runtime.block_on(server::serve(warden));
    // A thread may still wait for standard input; the process ends without it.
    runtime.shutdown_background();
    audit.stop(if served.is_ok() { "client_gone" } else { "failed" });
    served?;
    Ok(ExitCode::SUCCESS)
}

fn number(limit: Limit<u64>) -> u64 {
    limit.bound().unwrap_or(u64::MAX)
}

fn source(source: &LayerSource) -> String {
    match source {
        LayerSource::File { path, .. } => path.display().to_string(),
        LayerSource::Environment => "environment".to_owned(),
        LayerSource::Builtin => "defaults".to_owned(),
    }
}

/// Tells the operator on standard error what holds.
fn banner(policy: &policy::Policy, launch: &Path, warnings: usize) -> io::Result<()> {
    let layers: Vec<String> = policy.layers().iter().map(|layer| source(&layer.source)).collect();
    let layers = layers.join(", ");
    writeln!(
        io::stderr(),
        "playwright-warden {}: policy {} from {layers}, launched in {}, sandbox {}{}",
        env!("CARGO_PKG_VERSION"),
        shortened(&policy.hash()),
        launch.display(),
        policy.sandbox().mode().value,
        if warnings == 0 { String::new() } else { format!("; warnings: {warnings}, see --check-policy") },
    )
}

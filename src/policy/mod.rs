//! What is allowed: the compiled policy, and how it comes to be.
//!
//! In: the inputs of this process. Out: a `Policy`, made only by `compile`, or findings. Files and the environment are
//! read in `source` alone; deciding on a call is left to `decision`.

use std::path::PathBuf;
use std::sync::Arc;

use crate::path::locate::canonical;
use crate::policy::diagnostic::{Diagnostic, Severity};
use crate::policy::excerpt::{SourceText, Style, render};
use crate::policy::expect::Stated;
use crate::policy::limits::Limits;
use crate::policy::origin::Sourced;
use crate::policy::pattern::path_glob::PathBase;
use crate::policy::rules::{AuditRules, DirRules, EnvRules, RunRules, SandboxRules, ToolRules};
use crate::policy::source::{Inputs, Layer, LayerSource, LayerSummary};

pub mod combine;
pub mod compile;
pub mod confinement;
pub mod decision;
mod defaults;
pub mod denylist;
pub mod diagnostic;
pub mod effective;
pub mod excerpt;
pub mod expect;
#[cfg(test)]
mod laws;
pub mod limits;
pub mod origin;
pub mod pattern;
pub mod permissions;
pub mod recording;
pub mod request;
mod review;
pub mod rules;
pub mod source;
pub mod tool;
pub mod toolchains;

/// What is allowed, all layers combined; each value keeps the place that it comes from.
#[derive(Clone, Debug)]
pub struct Policy {
    dirs: DirRules,
    tools: ToolRules,
    run: RunRules,
    env: Arc<EnvRules>,
    limits: Arc<Limits>,
    sandbox: SandboxRules,
    audit: AuditRules,
    expectations: Vec<Stated>,
    results_file: Option<Sourced<PathBuf>>,
    layers: Vec<LayerSummary>,
}

impl Policy {
    /// `[dirs]`.
    pub const fn dirs(&self) -> &DirRules {
        &self.dirs
    }

    /// `[tools]`.
    pub const fn tools(&self) -> &ToolRules {
        &self.tools
    }

    /// `[run]`.
    pub const fn run(&self) -> &RunRules {
        &self.run
    }

    /// `[env]`.
    pub fn env(&self) -> &EnvRules {
        &self.env
    }

    /// `[limits]`.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// `[sandbox]`.
    pub const fn sandbox(&self) -> &SandboxRules {
        &self.sandbox
    }

    /// `[audit]`.
    pub const fn audit(&self) -> &AuditRules {
        &self.audit
    }

    /// `[[expect]]` of all layers, each with its places.
    pub fn expectations(&self) -> &[Stated] {
        &self.expectations
    }

    /// `PW_RESULTS_FILE`: the report for every call; absolute, its directory canonical and allowed.
    pub const fn results_file(&self) -> Option<&Sourced<PathBuf>> {
        self.results_file.as_ref()
    }

    /// The layers that it was made of, the granting one first.
    pub fn layers(&self) -> &[LayerSummary] {
        &self.layers
    }

    /// The SHA-256 of what it comes to, in hexadecimal: equal for policies that allow the same, wherever they stand.
    #[must_use]
    pub fn hash(&self) -> String {
        effective::hash(self)
    }
}

/// What came of reading the policy.
#[derive(Debug)]
pub struct Loaded {
    /// The policy, if there is no finding of severity error.
    pub policy: Option<Policy>,
    /// The layers that there are, the granting one first.
    pub layers: Vec<LayerSummary>,
    /// All findings.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts of the policy files, for excerpts.
    pub texts: Vec<SourceText>,
}

/// What came of reading the policy, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is a policy.
    Valid,
    /// There is a policy, with warnings.
    ValidWithWarnings,
    /// A source is wrong or insecure.
    Invalid,
    /// A source could not be had at all.
    InputOutput,
}

impl Loaded {
    /// Tells in a word what came of it; a source that could not be had comes before one that is wrong.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let errors = || self.diagnostics.iter().filter(|finding| finding.severity == Severity::Error);
        if errors().any(|finding| finding.code.is_input_output()) {
            Verdict::InputOutput
        } else if self.policy.is_none() || errors().next().is_some() {
            Verdict::Invalid
        } else if self.diagnostics.is_empty() {
            Verdict::Valid
        } else {
            Verdict::ValidWithWarnings
        }
    }

    /// Adds findings: by place, and a file that is named twice is told once.
    pub fn add(&mut self, findings: impl IntoIterator<Item = Diagnostic>) {
        self.diagnostics.extend(findings);
        self.diagnostics.sort_by(|one, other| one.origin.cmp(&other.origin));
        self.diagnostics.dedup();
    }

    /// Shows all findings to a person.
    #[must_use]
    pub fn render(&self, style: Style) -> String {
        render(&self.diagnostics, &self.texts, style)
    }
}

/// Reads all sources once, and makes the policy of them.
///
/// The server and `--check-policy` both call this. Any finding of severity error means no policy. What depends on the
/// whole policy is looked over only where each part of it is right.
#[must_use]
pub fn load(inputs: &Inputs) -> Loaded {
    let base = base_of(inputs);
    let (layers, mut diagnostics) = source::layers(inputs);
    let compiled = compile::compile(&layers, &base);
    let policy = match compiled {
        Ok(policy) if !has_error(&diagnostics) => {
            diagnostics.extend(review::review(&policy, &base, inputs));
            Some(policy).filter(|_| !has_error(&diagnostics))
        }
        Ok(_) => None,
        Err(findings) => {
            diagnostics.extend(findings);
            None
        }
    };
    let texts = layers.iter().filter_map(text_of).collect();
    let layers = layers.into_iter().map(|layer| layer.summary).collect();
    let mut loaded = Loaded { policy, layers, diagnostics: Vec::new(), texts };
    loaded.add(diagnostics);
    loaded
}

fn has_error(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|finding| finding.severity == Severity::Error)
}

fn text_of(layer: &Layer) -> Option<SourceText> {
    match (&layer.summary.source, &layer.text) {
        (LayerSource::File { path, .. }, Some(text)) => {
            Some(SourceText { path: path.clone(), text: text.clone() })
        }
        (LayerSource::File { .. } | LayerSource::Environment | LayerSource::Builtin, _) => None,
    }
}

/// Canonical where the system can tell it; as it is otherwise, and then the entries that need it are refused.
fn base_of(inputs: &Inputs) -> PathBase {
    PathBase { launch_dir: canonical(&inputs.launch_dir), home: inputs.home.as_deref().map(canonical) }
}

//! The sources of the policy: each read once, as it was written, with its role.
//!
//! In: [`Inputs`]. Out: [`Layer`]s, the granting one first, and what is wrong with them. Nothing is combined here;
//! that is left to `compile`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::policy::diagnostic::Diagnostic;
use crate::policy::origin::Sourced;
use crate::policy::source::environment::Environment;
use crate::policy::source::file::{FileFacts, Presence};
use crate::policy::source::settings::Settings;
use crate::policy::source::written::{Places, Written};

pub mod document;
pub mod environment;
mod expectations;
pub mod file;
pub mod keys;
pub mod schema;
pub mod settings;
pub mod suggest;
mod syntax;
mod value;
pub mod written;

/// Where the user's own policy file is, below the home.
pub const USER_POLICY: &str = ".config/playwright-warden/policy.toml";

/// All that decides what the policy is.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The directory that the server was started in; absolute.
    pub launch_dir: PathBuf,
    /// The variables that the server was started with.
    pub environment: Environment,
    /// The user's home from the user database, if there is one; absolute.
    pub home: Option<PathBuf>,
    /// The user.
    pub uid: u32,
    /// The file of `--policy`.
    pub policy_option: Option<PathBuf>,
}

impl Inputs {
    /// Collects the inputs of this process.
    ///
    /// # Errors
    /// The system's error where the working directory or the user can't be told.
    pub fn of_this_process(policy_option: Option<PathBuf>) -> io::Result<Self> {
        let uid = rustix::process::geteuid().as_raw();
        let user = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid))?;
        Ok(Self {
            launch_dir: std::env::current_dir()?,
            environment: Environment::of_this_process(),
            home: user.map(|user| user.dir).filter(|home| home.is_absolute()),
            uid,
            policy_option,
        })
    }

    /// The file that was named, absolute: by `--policy`, else by `PW_POLICY_FILE`.
    fn named_file(&self) -> Option<PathBuf> {
        let named = self.policy_option.clone().or_else(|| self.environment.policy_file())?;
        Some(self.launch_dir.join(named))
    }
}

/// Whether a layer gives or takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It grants; its absent keys have their defaults.
    Grant,
    /// It only takes away; its absent keys say nothing.
    Limit,
}

/// Where a layer comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayerSource {
    /// A policy file.
    File {
        /// Its absolute path, as it was named.
        path: Arc<Path>,
        /// What was found out about it; absent where it was refused.
        facts: Option<FileFacts>,
    },
    /// The variables of this server.
    Environment,
    /// No source at all: the defaults.
    Builtin,
}

/// A layer for reviewers and for the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerSummary {
    /// What it does.
    pub role: Role,
    /// Where it comes from.
    pub source: LayerSource,
}

impl Serialize for LayerSummary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Layer", 6)?;
        fields.serialize_field("role", &self.role)?;
        match &self.source {
            LayerSource::File { path, facts } => {
                fields.serialize_field("kind", "file")?;
                fields.serialize_field("path", &path.to_string_lossy())?;
                if let Some(facts) = facts {
                    fields.serialize_field("owner_uid", &facts.owner_uid)?;
                    fields.serialize_field("mode", &format!("{:04o}", facts.mode))?;
                    fields.serialize_field("sha256", &facts.sha256)?;
                }
            }
            LayerSource::Environment => fields.serialize_field("kind", "environment")?,
            LayerSource::Builtin => fields.serialize_field("kind", "builtin")?,
        }
        fields.end()
    }
}

/// One source as written.
#[derive(Clone, Debug)]
pub struct Layer {
    /// What it is.
    pub summary: LayerSummary,
    /// What it sets.
    pub settings: Settings,
    /// Where that stands.
    pub places: Places,
    /// `PW_RESULTS_FILE`, as it was written.
    pub results_file: Option<Sourced<PathBuf>>,
    /// A file's text, for excerpts.
    pub text: Option<Arc<str>>,
}

impl Layer {
    /// A layer that sets nothing.
    #[must_use]
    pub fn empty(role: Role, source: LayerSource) -> Self {
        Self {
            summary: LayerSummary { role, source },
            settings: Settings::default(),
            places: Places::default(),
            results_file: None,
            text: None,
        }
    }
}

/// Reads all sources that there are: the granting layer first, then those that limit it.
///
/// The user's own file grants if it exists, else the named file, else the environment, else the defaults. A source
/// with findings of severity error still is a layer, with what could be read of it.
pub fn layers(inputs: &Inputs) -> (Vec<Layer>, Vec<Diagnostic>) {
    let mut findings = Vec::new();
    let mut layers: Vec<Layer> = Vec::new();
    if let Some(path) = inputs.home.as_ref().map(|home| home.join(USER_POLICY)) {
        layers.extend(file_layer(&path, inputs.uid, Presence::Optional, &mut findings));
    }
    if let Some(path) = inputs.named_file() {
        let named = file_layer(&path, inputs.uid, Presence::Named, &mut findings);
        layers.extend(named.filter(|named| !layers.iter().any(|known| is_same_file(known, named))));
    }
    layers.extend(environment_layer(&inputs.environment, &mut findings));
    if layers.is_empty() {
        layers.push(Layer::empty(Role::Grant, LayerSource::Builtin));
    }
    for (index, layer) in layers.iter_mut().enumerate() {
        layer.summary.role = if index == 0 { Role::Grant } else { Role::Limit };
    }
    (layers, findings)
}

fn file_layer(path: &Path, uid: u32, presence: Presence, findings: &mut Vec<Diagnostic>) -> Option<Layer> {
    let path: Arc<Path> = path.into();
    let source = |facts| LayerSource::File { path: Arc::clone(&path), facts };
    match file::read(&path, uid, presence) {
        Ok(None) => None,
        Ok(Some(file)) => {
            let (written, faults) = document::parse(&path, &file.text);
            findings.extend(faults);
            let mut layer = layer_of(source(Some(file.facts)), written, findings);
            layer.text = Some(file.text);
            Some(layer)
        }
        Err(faults) => {
            findings.extend(faults);
            Some(Layer::empty(Role::Limit, source(None)))
        }
    }
}

fn environment_layer(environment: &Environment, findings: &mut Vec<Diagnostic>) -> Option<Layer> {
    let source = environment::read(environment);
    findings.extend(source.findings);
    let mut layer = layer_of(LayerSource::Environment, source.written?, findings);
    layer.results_file = source.results_file;
    Some(layer)
}

fn layer_of(source: LayerSource, written: Written, findings: &mut Vec<Diagnostic>) -> Layer {
    let mut layer = Layer::empty(Role::Limit, source);
    match written.settings() {
        Ok(settings) => layer.settings = settings,
        Err(finding) => findings.push(*finding),
    }
    layer.places = written.places;
    layer
}

fn is_same_file(one: &Layer, other: &Layer) -> bool {
    match (&one.summary.source, &other.summary.source) {
        (LayerSource::File { facts: Some(one), .. }, LayerSource::File { facts: Some(other), .. }) => {
            one.canonical == other.canonical
        }
        (LayerSource::File { .. } | LayerSource::Environment | LayerSource::Builtin, _) => false,
    }
}

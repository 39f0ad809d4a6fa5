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
use crate::policy::source::file::{FileFacts, PolicyFile, Presence};
use crate::policy::source::settings::Settings;
use crate::policy::source::system::SystemDir;
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
pub mod system;
pub(in crate::policy) mod system_rules;
mod value;
pub mod written;

/// Where the user's own policy file is, below the home.
pub const USER_POLICY: &str = ".config/playwright-warden/policy.toml";

/// Where runs and caches are kept unless an option says otherwise, below the home.
pub const USER_STATE: &str = ".local/state/playwright-warden";

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
    /// Where the system's own policy is. Neither a variable nor an option says so.
    pub system_dir: SystemDir,
    /// Where runs and caches are kept, if that can be told; absolute.
    pub state_dir: Option<PathBuf>,
    /// This program's own file, as the kernel names it.
    pub program: Option<PathBuf>,
}

impl Inputs {
    /// Collects the inputs of this process.
    ///
    /// # Errors
    /// The system's error where the working directory or the user can't be told.
    pub fn of_this_process(
        policy_option: Option<PathBuf>,
        state_option: Option<PathBuf>,
    ) -> io::Result<Self> {
        let uid = rustix::process::geteuid().as_raw();
        let user = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid))?;
        let launch_dir = std::env::current_dir()?;
        let home = user.map(|user| user.dir).filter(|home| home.is_absolute());
        let state_dir = state_option.map(|state| launch_dir.join(state));
        Ok(Self {
            state_dir: state_dir.or_else(|| home.as_ref().map(|home| home.join(USER_STATE))),
            launch_dir,
            environment: Environment::of_this_process(),
            home,
            uid,
            policy_option,
            system_dir: SystemDir::of_this_machine(),
            program: std::env::current_exe().ok(),
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
    /// It grants; its absent keys have their defaults, which are strict ones for a file of the system.
    Grant,
    /// It only takes away; its absent keys say nothing.
    Limit,
}

/// Whose policy file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The system's: it limits every user, and grants only where it is exclusive.
    System,
    /// The user's own.
    User,
    /// One that was named by an option or a variable.
    Named,
}

impl Scope {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Named => "named",
        }
    }
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
        /// Whose it is.
        scope: Scope,
    },
    /// The variables of this server.
    Environment,
    /// No source at all: the defaults.
    Builtin,
}

impl LayerSource {
    /// Whose file it is, if it is one.
    #[must_use]
    pub const fn scope(&self) -> Option<Scope> {
        match self {
            Self::File { scope, .. } => Some(*scope),
            Self::Environment | Self::Builtin => None,
        }
    }
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
        let mut fields = serializer.serialize_struct("Layer", 7)?;
        fields.serialize_field("role", &self.role)?;
        match &self.source {
            LayerSource::File { path, facts, scope } => {
                fields.serialize_field("kind", "file")?;
                fields.serialize_field("scope", scope)?;
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
    /// `exclusive`, as a file says it.
    pub exclusive: Option<Sourced<bool>>,
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
            exclusive: None,
        }
    }
}

/// Reads all sources that there are: what grants first, then what limits it.
///
/// The exclusive files of the system grant if there are any. Else the user's own file does if it exists, else the named
/// file, else the environment, else the defaults. A source with findings of severity error still is a layer, with what
/// could be read of it.
pub fn layers(inputs: &Inputs) -> (Vec<Layer>, Vec<Diagnostic>) {
    let mut findings = Vec::new();
    let (mut layers, limits): (Vec<Layer>, Vec<Layer>) =
        system_layers(&inputs.system_dir, &mut findings).into_iter().partition(system_rules::is_exclusive);
    for exclusive in &mut layers {
        findings.extend(system_rules::grant(exclusive));
    }
    let user = inputs.home.as_ref().map(|home| (home.join(USER_POLICY), Scope::User, Presence::Optional));
    let named = inputs.named_file().map(|path| (path, Scope::Named, Presence::Named));
    for (path, scope, presence) in user.into_iter().chain(named) {
        let file = file::read(&path, inputs.uid, presence);
        let layer = file_layer(&path, scope, file, &mut findings);
        // A file that is named twice is one layer.
        let layer = layer.filter(|layer| !layers.iter().any(|known| is_same_file(known, layer)));
        findings.extend(layer.as_ref().and_then(system_rules::no_system_file));
        layers.extend(layer);
    }
    layers.extend(environment_layer(&inputs.environment, &mut findings));
    match layers.first_mut() {
        Some(first) => first.summary.role = Role::Grant,
        None => layers.push(Layer::empty(Role::Grant, LayerSource::Builtin)),
    }
    layers.extend(limits);
    (layers, findings)
}

/// The system's files, each a limit for now.
fn system_layers(system_dir: &SystemDir, findings: &mut Vec<Diagnostic>) -> Vec<Layer> {
    let read = system::read(system_dir);
    findings.extend(read.findings);
    let files = read.files.into_iter();
    let layers: Vec<_> =
        files.filter_map(|(path, file)| file_layer(&path, Scope::System, file.map(Some), findings)).collect();
    findings.extend(layers.iter().flat_map(system_rules::relative_paths));
    layers
}

fn file_layer(
    path: &Path,
    scope: Scope,
    file: Result<Option<PolicyFile>, Vec<Diagnostic>>,
    findings: &mut Vec<Diagnostic>,
) -> Option<Layer> {
    let path: Arc<Path> = path.into();
    let source = |facts| LayerSource::File { path: Arc::clone(&path), facts, scope };
    match file {
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
    layer.exclusive = written.exclusive;
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

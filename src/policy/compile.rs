//! Layers to a policy: the only maker of [`Policy`], which says for each key by which rule its layers combine.
//!
//! In: layers as written. Out: a policy, or what is wrong with their entries. What a reviewer would ask about a policy
//! that holds is left to `review`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::path::locate::locate;
use crate::policy::Policy;
use crate::policy::combine::{AllowList, DenyList, LayerList, Subtrees, strictest};
use crate::policy::decision::RUN_CHECKS;
use crate::policy::defaults as default;
use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::expect::Stated;
use crate::policy::limits::Limits;
use crate::policy::origin::{Origin, Sourced};
use crate::policy::pattern::name::{Case, EnvName, NamePattern};
use crate::policy::pattern::path_glob::{PathBase, PathGlob, parse_within_project};
use crate::policy::pattern::{PatternError, Syntax};
use crate::policy::recording::AuditSink;
use crate::policy::rules::{AuditRules, DirRules, EnvRules, RunRules, SandboxRules, ToolRules};
use crate::policy::source::settings::Settings;
use crate::policy::source::suggest::{list, nearest};
use crate::policy::source::written::item_key;
use crate::policy::source::{Layer, LayerSource, Role, Scope};
use crate::policy::tool::ToolName;

/// Compiles layers, of which the first grants; an entry that is wrong leaves no policy.
///
/// # Errors
/// All findings about entries, each with its place.
pub(in crate::policy) fn compile(layers: &[Layer], base: &PathBase) -> Result<Policy, Vec<Diagnostic>> {
    let mut compiler = Compiler { layers, base, findings: Vec::new() };
    let policy = compiler.policy();
    if compiler.findings.is_empty() { Ok(policy) } else { Err(compiler.findings) }
}

struct Compiler<'a> {
    layers: &'a [Layer],
    base: &'a PathBase,
    findings: Vec<Diagnostic>,
}

/// Why an entry is refused.
struct Fault {
    code: DiagnosticCode,
    summary: String,
    hint: String,
}

impl From<PatternError> for Fault {
    fn from(error: PatternError) -> Self {
        Self { code: error.code(), summary: error.to_string(), hint: error.hint().to_owned() }
    }
}

/// How one entry of a list becomes what it means.
type Parse<P> = fn(&str, Syntax, &PathBase) -> Result<P, Fault>;

/// A list as a layer wrote it.
type Words = Option<Vec<String>>;

impl Compiler<'_> {
    fn policy(&mut self) -> Policy {
        let dirs = DirRules {
            allow: self.allow("dirs.allow", |set| &set.dirs.allow, default::DIRS_ALLOW, directory),
            deny: self.union("dirs.deny", |set| &set.dirs.deny, default::NOTHING, directory),
            owner: self.strictest("dirs.owner", |set| set.dirs.owner, default::DIRS_OWNER),
        };
        let tools = ToolRules {
            allow: self.allow("tools.allow", |set| &set.tools.allow, default::TOOLS_ALLOW, tool),
        };
        let run = RunRules {
            headed: self.strictest("run.headed", |set| set.run.headed, default::RUN_HEADED),
            update_snapshots: self.strictest(
                "run.update_snapshots",
                |set| set.run.update_snapshots,
                default::RUN_UPDATE_SNAPSHOTS,
            ),
            projects: self.allow("run.projects", |set| &set.run.projects, default::RUN_PROJECTS, project),
        };
        let env = EnvRules {
            inherit: self.allow("env.inherit", |set| &set.env.inherit, default::ENV_INHERIT, given_variable),
            withhold: self.union(
                "env.withhold",
                |set| &set.env.withhold,
                default::ENV_WITHHOLD,
                taken_variable,
            ),
            allow: self.allow("env.allow", |set| &set.env.allow, default::NOTHING, given_variable),
            values: self.values(),
            redact: self.union("env.redact", |set| &set.env.redact, default::ENV_REDACT, taken_variable),
        };
        Policy {
            dirs,
            tools,
            run,
            env: Arc::new(env),
            limits: Arc::new(self.limits()),
            sandbox: self.sandbox(),
            audit: self.audit(),
            expectations: self.expectations(),
            results_file: self.results_file(),
            layers: self.layers.iter().map(|layer| layer.summary.clone()).collect(),
        }
    }

    fn sandbox(&mut self) -> SandboxRules {
        let outputs = self.allow(
            "sandbox.outputs",
            |set| &set.sandbox.outputs,
            default::SANDBOX_OUTPUTS,
            within_project,
        );
        let read = self.allow("sandbox.read", |set| &set.sandbox.read, default::NOTHING, path);
        let write = self.allow("sandbox.write", |set| &set.sandbox.write, default::NOTHING, path);
        SandboxRules {
            mode: self.strictest("sandbox.mode", |set| set.sandbox.mode, default::SANDBOX_MODE),
            project: self.strictest("sandbox.project", |set| set.sandbox.project, default::SANDBOX_PROJECT),
            outputs: Subtrees::new(outputs),
            protect: self.union(
                "sandbox.protect",
                |set| &set.sandbox.protect,
                default::SANDBOX_PROTECT,
                within_project,
            ),
            read: Subtrees::new(read),
            write: Subtrees::new(write),
            network: self.strictest("sandbox.network", |set| set.sandbox.network, default::SANDBOX_NETWORK),
            unix_sockets: self.strictest(
                "sandbox.unix_sockets",
                |set| set.sandbox.unix_sockets,
                default::SANDBOX_UNIX_SOCKETS,
            ),
        }
    }

    fn audit(&mut self) -> AuditRules {
        let mut sinks: Vec<Sourced<AuditSink>> = Vec::new();
        for layer in self.layers {
            for (index, sink) in layer.settings.audit.sinks.iter().flatten().enumerate() {
                if !sinks.iter().any(|known| known.value == *sink) {
                    sinks.push(Sourced::new(*sink, layer.places.of_item("audit.sinks", index)));
                }
            }
        }
        let (file, named) = self.audit_file();
        AuditRules {
            sinks,
            args: self.recorded("audit.args", |set| set.audit.args, default::AUDIT_ARGS),
            on_error: self.recorded("audit.on_error", |set| set.audit.on_error, default::AUDIT_ON_ERROR),
            file,
            named,
        }
    }

    /// Says whether a layer of the system names sinks: then what it leaves out of `[audit]` has its default there, so that
    /// nobody can turn the system's log aside.
    fn is_systems_log(layer: &Layer) -> bool {
        layer.summary.source.scope() == Some(Scope::System) && layer.settings.audit.sinks.is_some()
    }

    /// The stricter, to which the system's log counts with its defaults.
    fn recorded<T: Ord + Copy>(
        &self,
        key: &str,
        get: impl Fn(&Settings) -> Option<T>,
        default: T,
    ) -> Sourced<T> {
        let system = self.layers.iter().filter(|layer| Self::is_systems_log(layer));
        let absent = system.filter(|layer| get(&layer.settings).is_none());
        let absent = absent.map(|layer| Sourced::new(default, layer.places.of("audit.sinks")));
        let set = self.strictest(key, &get, default);
        strictest(std::iter::once(set.clone()).chain(absent)).unwrap_or(set)
    }

    /// `audit.file` of the system, if it sets one or names sinks, else that of the granting layer. Of several of the
    /// system's the first by name is as good as any, and whatever their order the same.
    fn written_audit_file(&self) -> Sourced<String> {
        let file_of = |layer: &&Layer| layer.settings.audit.file.clone();
        let system =
            || self.layers.iter().filter(|layer| layer.summary.source.scope() == Some(Scope::System));
        let decides = system().filter(|layer| file_of(layer).is_some()).min_by_key(file_of);
        let decides = decides.or_else(|| system().find(|layer| Self::is_systems_log(layer)));
        let granting = self.layers.iter().find(|layer| layer.summary.role == Role::Grant);
        let written = decides
            .or(granting)
            .and_then(|layer| Some(Sourced::new(file_of(&layer)?, layer.places.of("audit.file"))));
        written.unwrap_or_else(|| Sourced::builtin(default::AUDIT_FILE.to_owned()))
    }

    /// `audit.file`, and the name that the policy gives it.
    fn audit_file(&mut self) -> (Sourced<PathBuf>, PathBuf) {
        let key = "audit.file";
        let written = self.written_audit_file();
        match file(&written.value, self.base) {
            Ok((path, named)) => (Sourced::new(path, written.origin), named),
            Err(fault) => {
                // Who has no home can't have the default file; that is told where somebody wants it.
                if written.origin != Origin::Builtin {
                    self.fault(key, written.origin.clone(), fault);
                }
                let as_written = written.map(PathBuf::from);
                (as_written.clone(), as_written.value)
            }
        }
    }

    /// `[[expect]]`: all are kept, with their places.
    fn expectations(&mut self) -> Vec<Stated> {
        let mut kept = Vec::new();
        for layer in self.layers {
            for (index, expectation) in layer.settings.expect.iter().enumerate() {
                let place = |part: &str| layer.places.of(&format!("{}.{part}", item_key("expect", index)));
                if let Err(fault) = tool(&expectation.call.tool, Syntax::Literal, self.base) {
                    self.fault("expect.call.tool", place("call.tool"), fault);
                } else if let Some(fault) = expectation.rule.as_deref().and_then(no_rule) {
                    self.fault("expect.rule", place("rule"), fault);
                } else {
                    kept.push(Stated {
                        expectation: expectation.clone(),
                        decision: layer.places.of_item("expect", index),
                        call: place("call"),
                    });
                }
            }
        }
        kept
    }

    /// What every layer that sets the key allows.
    fn allow<P>(
        &mut self,
        key: &str,
        get: fn(&Settings) -> &Words,
        default: &[&str],
        parse: Parse<P>,
    ) -> AllowList<P> {
        let mut lists = self.lists(key, get, default, parse).into_iter();
        let nothing = LayerList { key: Origin::Builtin, entries: Vec::new() };
        let mut allow = AllowList::new(lists.next().unwrap_or(nothing));
        lists.for_each(|list| allow.narrow(list));
        allow
    }

    /// What any layer takes away.
    fn union<P>(
        &mut self,
        key: &str,
        get: fn(&Settings) -> &Words,
        default: &[&str],
        parse: Parse<P>,
    ) -> DenyList<P> {
        DenyList::new(
            self.lists(key, get, default, parse).into_iter().flat_map(|list| list.entries).collect(),
        )
    }

    /// The stricter, which is the smaller.
    fn strictest<T: Ord + Copy>(
        &self,
        key: &str,
        get: impl Fn(&Settings) -> Option<T>,
        default: T,
    ) -> Sourced<T> {
        let set = self.layers.iter().filter_map(|layer| match (get(&layer.settings), layer.summary.role) {
            (Some(value), _) => Some(Sourced::new(value, layer.places.of(key))),
            (None, Role::Grant) => Some(Sourced::builtin(default)),
            (None, Role::Limit) => None,
        });
        strictest(set).unwrap_or(Sourced::builtin(default))
    }

    fn lists<P>(
        &mut self,
        key: &str,
        get: fn(&Settings) -> &Words,
        default: &[&str],
        parse: Parse<P>,
    ) -> Vec<LayerList<P>> {
        let mut lists = Vec::new();
        for layer in self.layers {
            let (syntax, words, at) = match (get(&layer.settings), layer.summary.role) {
                (Some(words), _) => {
                    let places = |index| layer.places.of_item(key, index);
                    let words = words.iter().enumerate().map(|(index, word)| (word.clone(), places(index)));
                    (syntax_of(layer), words.collect::<Vec<_>>(), layer.places.of(key))
                }
                (None, Role::Grant) => {
                    let words = default.iter().map(|word| ((*word).to_owned(), Origin::Builtin)).collect();
                    (Syntax::Wildcards, words, Origin::Builtin)
                }
                (None, Role::Limit) => continue,
            };
            let mut entries = Vec::new();
            for (word, origin) in words {
                match parse(&word, syntax, self.base) {
                    Ok(entry) => entries.push(Sourced::new(entry, origin)),
                    Err(fault) => self.fault(key, origin, fault),
                }
            }
            lists.push(LayerList { key: at, entries });
        }
        lists
    }

    fn fault(&mut self, key: &str, origin: Origin, fault: Fault) {
        self.findings.push(Diagnostic::error(fault.code, origin, fault.summary).key(key).hint(fault.hint));
    }

    /// `env.values`: of each name, what every layer that lists the name allows.
    fn values(&mut self) -> BTreeMap<EnvName, AllowList<String>> {
        let mut values: BTreeMap<EnvName, AllowList<String>> = BTreeMap::new();
        for layer in self.layers {
            for (name, words) in layer.settings.env.values.iter().flatten() {
                let key = format!("env.values.{name}");
                let at = layer.places.of(&key);
                let name = match EnvName::parse(name) {
                    Ok(name) => name,
                    Err(error) => {
                        let hint = "write out each name, of letters, digits and `_`; `env.values` knows no wildcards";
                        let fault = Fault { hint: hint.to_owned(), ..error.into() };
                        self.fault("env.values", at, fault);
                        continue;
                    }
                };
                let entries = words.iter().enumerate();
                let entries = entries
                    .map(|(index, word)| Sourced::new(word.clone(), layer.places.of_item(&key, index)));
                let list = LayerList { key: at, entries: entries.collect() };
                match values.get_mut(&name) {
                    Some(known) => known.narrow(list),
                    None => {
                        values.insert(name, AllowList::new(list));
                    }
                }
            }
        }
        values
    }

    fn limits(&self) -> Limits {
        Limits::combine(|key, default| {
            self.strictest(&format!("limits.{key}"), |set| set.limits.get(key).copied(), default)
        })
    }

    /// `PW_RESULTS_FILE` with the canonical name of its directory; its own last component is left to who opens it.
    fn results_file(&mut self) -> Option<Sourced<PathBuf>> {
        let written = self.layers.iter().find_map(|layer| layer.results_file.as_ref())?;
        let path = self.base.launch_dir.join(&written.value);
        let located =
            path.parent().zip(path.file_name()).map(|(dir, name)| locate(dir).map(|dir| dir.path.join(name)));
        if let Some(Ok(path)) = located {
            return Some(Sourced::new(path, written.origin.clone()));
        }
        self.findings.push(
            Diagnostic::error(
                DiagnosticCode::BadValue,
                written.origin.clone(),
                format!("`{}` is no path of a file", written.value.display()),
            )
            .hint("name a JSON report in an allowed directory"),
        );
        None
    }
}

const fn syntax_of(layer: &Layer) -> Syntax {
    match layer.summary.source {
        LayerSource::File { .. } | LayerSource::Builtin => Syntax::Wildcards,
        LayerSource::Environment => Syntax::Literal,
    }
}

fn directory(text: &str, syntax: Syntax, base: &PathBase) -> Result<PathGlob, Fault> {
    Ok(PathGlob::parse(text, syntax, base)?)
}

fn path(text: &str, _syntax: Syntax, base: &PathBase) -> Result<PathBuf, Fault> {
    let path = PathGlob::parse(text, Syntax::Wildcards, base)?;
    path.literal().map(PathBuf::from).ok_or_else(|| PatternError::Wildcard(text.to_owned()).into())
}

/// A file that need not exist: its directory is made canonical, its own name is left to who opens it. Beside it, its name
/// as it was written, which is another one where symlinks lead elsewhere.
fn file(text: &str, base: &PathBase) -> Result<(PathBuf, PathBuf), Fault> {
    let fault = || Fault {
        code: DiagnosticCode::BadValue,
        summary: format!("`{text}` is no path of a file"),
        hint: "write it out from `/` or from `~/`".to_owned(),
    };
    let written = Path::new(text);
    let name = written.file_name().filter(|_| !text.ends_with('/')).ok_or_else(fault)?;
    let parent = written.parent().filter(|parent| parent.is_absolute() || parent.starts_with("~"));
    let parent = parent.and_then(Path::to_str).ok_or_else(fault)?;
    let parent = PathGlob::parse(parent, Syntax::Literal, base)?;
    let named = parent.alias().unwrap_or(parent.fixed_part());
    Ok((parent.fixed_part().join(name), named.join(name)))
}

fn within_project(text: &str, _syntax: Syntax, _base: &PathBase) -> Result<PathBuf, Fault> {
    Ok(parse_within_project(text)?)
}

fn project(text: &str, _syntax: Syntax, _base: &PathBase) -> Result<NamePattern, Fault> {
    Ok(NamePattern::parse_project(text)?)
}

fn given_variable(text: &str, syntax: Syntax, _base: &PathBase) -> Result<NamePattern, Fault> {
    Ok(NamePattern::parse_env(text, syntax, Case::Sensitive)?)
}

fn taken_variable(text: &str, syntax: Syntax, _base: &PathBase) -> Result<NamePattern, Fault> {
    Ok(NamePattern::parse_env(text, syntax, Case::Insensitive)?)
}

fn tool(text: &str, _syntax: Syntax, _base: &PathBase) -> Result<ToolName, Fault> {
    let names = || ToolName::ALL.iter().map(|tool| tool.as_str());
    ToolName::parse(text).ok_or_else(|| Fault {
        code: DiagnosticCode::UnknownTool,
        summary: format!("unknown tool `{text}`"),
        hint: nearest(text, names())
            .map_or_else(|| format!("tools are {}", list(names())), |near| format!("did you mean `{near}`?")),
    })
}

/// Says what is wrong with a rule that decides on no call.
fn no_rule(text: &str) -> Option<Fault> {
    let rules = || RUN_CHECKS.iter().copied();
    (!rules().any(|rule| rule == text)).then(|| Fault {
        code: DiagnosticCode::BadValue,
        summary: format!("no call is decided by a rule `{text}`"),
        hint: nearest(text, rules())
            .map_or_else(|| format!("rules are {}", list(rules())), |near| format!("did you mean `{near}`?")),
    })
}

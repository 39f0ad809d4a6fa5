//! What this system enforces, found by trying it in a child that runs nothing else.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    path::{RelPath, project::ProjectDir},
    sandbox::{
        Enforcement, Plan,
        confine::{ConfineOrder, ConfineReport, Refusal},
    },
};

/// What came of a try.
#[derive(Clone, Debug)]
pub enum Probed {
    /// This holds.
    Holds(Enforcement),
    /// A run would be refused.
    Refused(Refusal),
    /// It can't be tried, for this reason.
    Failed(String),
}

/// Applies a plan to a child of this program, and tells what holds there.
pub fn probe(plan: &Plan) -> Probed {
    probe_in(Path::new("."), plan)
}

/// Applies the plan of a run to a child in the run's project, and tells what holds there.
///
/// Nothing is made: what only a run makes, its own directory and missing output directories, is left out.
pub fn probe_run(plan: &Plan, project: &ProjectDir) -> Probed {
    let exists = |output: &&PathBuf| {
        let name = output.to_str().and_then(|name| RelPath::parse(name).ok());
        // What can't be looked at is tried.
        name.is_none_or(|name| !matches!(project.dir().kind_of(&name), Ok(None)))
    };
    let plan = Plan {
        write: plan.write.iter().filter(|place| place.exists()).cloned().collect(),
        outputs: plan.outputs.iter().filter(exists).cloned().collect(),
        ..plan.clone()
    };
    probe_in(&project.dir().entrance(), &plan)
}

fn probe_in(directory: &Path, plan: &Plan) -> Probed {
    let failed = |error: &dyn std::error::Error| Probed::Failed(error.to_string());
    let order = match serde_json::to_vec(&ConfineOrder { plan: plan.clone(), invocation: None }) {
        Ok(order) => order,
        Err(error) => return failed(&error),
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "the runner is the one spawner; this child runs no project code"
    )]
    let started = Command::new("/proc/self/exe")
        .arg("confine")
        .current_dir(directory)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => return failed(&error),
    };
    let mut line = String::new();
    let told = match (child.stdin.take(), child.stdout.take()) {
        (Some(mut stdin), Some(stdout)) => {
            let written = stdin.write_all(&order);
            drop(stdin);
            written.and_then(|()| BufReader::new(stdout).read_line(&mut line)).map(drop)
        }
        (None, _) | (_, None) => Ok(()),
    };
    match told.and_then(|()| child.wait()) {
        Err(error) => failed(&error),
        Ok(_) => match serde_json::from_str(&line) {
            Ok(ConfineReport::Enforced(enforcement)) => Probed::Holds(enforcement),
            Ok(ConfineReport::Refused(refusal)) => Probed::Refused(refusal),
            Err(_) => Probed::Failed("the helper said nothing".to_owned()),
        },
    }
}

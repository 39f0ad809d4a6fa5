//! Acts of test code, done by a real Playwright test that a real server runs.
//!
//! In: a project and a table of acts. Out: what each came to, by the test's own account: `ok`, what it found, or the name of
//! the error. `acts.spec.ts` says what there is to do; `attack` is the program of `tests/attack`.

use std::{fs, path::Path};

use serde_json::json;

use crate::{
    confined::attack,
    harness::{
        project::Project,
        server::{Reply, Server, Setup},
        user::User,
    },
};

/// One act: its name and its arguments.
pub type Act<'a> = &'a [&'a str];

/// A project whose one test does acts.
pub struct Actor {
    project: Project,
}

impl Actor {
    /// A new project, with the program of attacks in it.
    pub fn new() -> Self {
        Self::within(Project::new())
    }

    /// Makes the one test of a project.
    pub fn within(project: Project) -> Self {
        let project = project.file("tests/acts.spec.ts", include_str!("acts.spec.ts"));
        fs::copy(attack(), project.at("attack")).unwrap();
        Self { project }
    }

    /// The project.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// Does acts under a policy.
    pub fn act(&self, user: User, policy: &str, acts: &[Act<'_>]) -> Outcomes {
        let server = Setup::in_directory(self.project.path()).policy(policy).user(user).start();
        self.act_with(&server, acts)
    }

    /// Does acts in a run of this server.
    pub fn act_with(&self, server: &Server, acts: &[Act<'_>]) -> Outcomes {
        fs::write(self.project.at("acts.json"), json!(acts).to_string()).unwrap();
        let reply = server.run(json!({ "spec": "tests/acts.spec.ts" }));
        reply.assert_counts(1, 0);
        let report = Path::new(reply.text_at("/resultsFile"));
        let outcomes = fs::read(report.with_file_name("out").join("outcomes.json")).unwrap();
        let outcomes: Vec<String> = serde_json::from_slice(&outcomes).unwrap();
        assert_eq!(outcomes.len(), acts.len());
        Outcomes { outcomes, reply }
    }

    /// Proves denials: each act comes to `inside` under the policy, and to `control` under the other one.
    pub fn assert_denied(&self, user: User, policies: [&str; 2], rows: &[(Act<'_>, &str, &str)]) {
        let acts: Vec<Act<'_>> = rows.iter().map(|(act, _, _)| *act).collect();
        let [inside, control] = policies.map(|policy| self.act(user, policy, &acts).outcomes);
        for (index, (act, denied, allowed)) in rows.iter().enumerate() {
            assert_eq!(inside[index], *denied, "{act:?} inside, as {user:?}");
            assert_eq!(control[index], *allowed, "{act:?}, as {user:?}: the control");
        }
    }
}

/// What acts came to, in their order, and the server's answer about the run.
#[derive(Debug)]
pub struct Outcomes {
    /// One for each act.
    pub outcomes: Vec<String>,
    /// The answer.
    pub reply: Reply,
}

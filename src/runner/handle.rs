//! The server's side of a run: spending a grant, starting its supervisor, hearing how it ended.
//!
//! In: a [`RunGrant`], what is executed, the plan. Out: a [`RunOutcome`] and the grant to read the report. Ending a
//! run's processes is left to `supervise`, which does so also when this process is gone.

use std::{io, path::PathBuf, process::Stdio, time::Duration};

use thiserror::Error;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use crate::{
    gate::{ReadGrant, RunGrant},
    run_dir::RunDir,
    runner::{
        reporter,
        supervision::{Event, Order, Stopped},
    },
    sandbox::{Enforcement, Plan, confine, invocation::Invocation},
};

/// Why a run did not come to an end of its own kind.
#[derive(Debug, Error)]
pub enum RunError {
    /// The supervisor can't be started or spoken to.
    #[error("the run's supervisor can't be used")]
    Supervisor(#[source] io::Error),
    /// The reporter can't be written into the run's directory.
    #[error("the run's reporter can't be written")]
    Reporter(#[source] io::Error),
    /// The order can't be written as JSON.
    #[error("the run's order can't be written")]
    Order(#[source] serde_json::Error),
    /// The supervisor ended without a word, or with one that is none.
    #[error("the run's supervisor ended without saying how the run ended")]
    Silent,
    /// The confinement that the policy requires can't be had.
    #[error("{}", .0.message)]
    Refused(confine::Refusal),
}

/// All that a run is started with, made from its terms.
#[derive(Debug)]
pub struct Prepared {
    /// The command.
    pub invocation: Invocation,
    /// The confinement.
    pub plan: Plan,
    /// The run's own directory.
    pub directory: RunDir,
}

/// Starts runs. There is one in a server.
#[derive(Debug)]
pub struct Runner {
    executable: PathBuf,
}

impl Runner {
    /// A runner whose supervisors are this very program.
    pub fn of_this_program() -> Self {
        Self { executable: PathBuf::from("/proc/self/exe") }
    }

    /// Starts a run, in the very directory that was decided on.
    ///
    /// # Errors
    /// [`RunError`] when the supervisor can't be started.
    pub async fn start(&self, grant: RunGrant, prepared: Prepared) -> Result<RunHandle, RunError> {
        let Prepared { invocation, plan, directory } = prepared;
        reporter::write(&directory.paths().reporter).map_err(RunError::Reporter)?;
        let terms = grant.terms();
        let order = Order {
            plan,
            invocation,
            timeout_ms: milliseconds(terms.timeout),
            grace_ms: milliseconds(terms.grace),
            output_tail_bytes: terms.output_tail_bytes(),
        };
        let mut line = serde_json::to_vec(&order).map_err(RunError::Order)?;
        line.push(b'\n');
        #[expect(clippy::disallowed_methods, reason = "the runner is the one spawner of the server")]
        let mut child = Command::new(&self.executable)
            .arg("supervise")
            .current_dir(grant.project().dir().entrance())
            .env_clear()
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(RunError::Supervisor)?;
        if let Some(stdin) = &mut child.stdin {
            stdin.write_all(&line).await.map_err(RunError::Supervisor)?;
        }
        let events = child.stdout.take().map(|stdout| BufReader::new(stdout).lines());
        let events = events.ok_or(RunError::Silent)?;
        Ok(RunHandle { grant, directory, child, events })
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A run that was started. Dropping it closes the supervisor's input, which ends the run.
#[derive(Debug)]
pub struct RunHandle {
    grant: RunGrant,
    directory: RunDir,
    child: Child,
    events: Lines<BufReader<ChildStdout>>,
}

/// How a run came to its end.
#[derive(Debug)]
pub struct RunOutcome {
    /// The grant to read what it left behind.
    pub grant: ReadGrant,
    /// Its directory.
    pub directory: RunDir,
    /// What held for it.
    pub enforcement: Option<Enforcement>,
    /// Why and how it ended.
    pub stopped: Stopped,
}

impl RunHandle {
    /// Waits for the end, or orders it as soon as `order` comes; all processes are gone then.
    ///
    /// # Errors
    /// [`RunError`] when the run was refused, or its supervisor failed.
    pub async fn end(mut self, order: impl Future<Output = ()>) -> Result<RunOutcome, RunError> {
        let (enforcement, stopped) = match self.follow(order).await {
            Ok(ended) => ended,
            Err(error) => {
                // Its place is given back only when the supervisor is gone, and with it the run.
                drop(self.child.stdin.take());
                self.child.wait().await.map_err(RunError::Supervisor)?;
                return Err(error);
            }
        };
        self.child.wait().await.map_err(RunError::Supervisor)?;
        Ok(RunOutcome { grant: self.grant.into_read(), directory: self.directory, enforcement, stopped })
    }

    async fn follow(
        &mut self,
        order: impl Future<Output = ()>,
    ) -> Result<(Option<Enforcement>, Stopped), RunError> {
        tokio::pin!(order);
        let mut enforcement = None;
        let mut ordered = false;
        loop {
            let line = tokio::select! {
                line = self.events.next_line() => line.map_err(RunError::Supervisor)?,
                () = &mut order, if !ordered => {
                    ordered = true;
                    drop(self.child.stdin.take());
                    continue;
                }
            };
            match line.as_deref().map(serde_json::from_str::<Event>) {
                Some(Ok(Event::Started { .. })) => {}
                Some(Ok(Event::Enforced { enforcement: holds })) => enforcement = Some(holds),
                Some(Ok(Event::Refused(refusal))) => return Err(RunError::Refused(refusal)),
                Some(Ok(Event::Stopped(stopped))) => return Ok((enforcement, stopped)),
                Some(Err(_)) | None => return Err(RunError::Silent),
            }
        }
    }
}

//! The MCP surface, the only layer that knows rmcp: which tools there are, and who answers a call.
//!
//! In: a client's messages. Out: answers. What a call may do is decided by the gate, what a tool answers stands in the
//! file of its family.

pub mod answer;
pub mod failed_tests;
pub mod get_policy;
pub mod instructions;
pub mod run;
pub mod secrets;
pub mod tools;
pub mod transport;

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, DiscoverResult,
        ErrorCode, Implementation, ListToolsResult, MetaObject, PaginatedRequestParams, ProtocolVersion,
        ServerCapabilities, ServerConfig, Tool,
    },
    service::{RequestContext, ServerInitializeError},
};
use serde_json::{Map, Value};
use thiserror::Error;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    audit::record::Client,
    gate::Gate,
    path::handle::DirHandle,
    policy::{
        decision::SandboxTerms,
        permissions::Permissions,
        request::{Request, arguments::ArgumentError},
        source::environment::Environment,
        tool::ToolName,
    },
    run_dir::StateDir,
    runner::{
        handle::Runner,
        probe::{Probed, probe},
        tracker::RunTracker,
    },
    sandbox::Plan,
    server::answer::{ToolError, ToolResult, refusals},
};

/// How long the server waits for its runs to end when the client is gone; their supervisors end them in any case, and
/// clients kill a server that is there after two seconds.
const FAREWELL: Duration = Duration::from_millis(1_500);
/// How long a client may keep the list of tools, in milliseconds: it changes with the policy, read once at start.
const TOOLS_TTL: u64 = 300_000;
/// The key under which a modern result names its server.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// All that the tools work with.
#[derive(Debug)]
pub struct Warden {
    /// Decides, writes down, grants.
    pub gate: Gate,
    /// The server's own environment.
    pub environment: Environment,
    /// The directory that the server was started in.
    pub launch: DirHandle,
    /// The user's home, from the user database.
    pub home: PathBuf,
    /// Where runs and caches are kept.
    pub state: StateDir,
    /// Starts runs.
    pub runner: Runner,
    /// Knows them.
    pub tracker: Arc<RunTracker>,
    /// Places for work on files.
    pub workers: Semaphore,
    /// What of the policy's sandbox holds on this system, once it was tried.
    pub probed: OnceLock<Probed>,
}

impl Warden {
    /// So much work on files goes on at a time: reading a report takes memory.
    pub const WORKERS: usize = 4;

    /// What of the sandbox holds on this system: tried in a child when it is first asked for, and kept, since neither
    /// the policy nor the kernel changes while the server lives.
    pub fn sandbox_here(&self, terms: &SandboxTerms) -> &Probed {
        self.probed.get_or_init(|| probe(&Plan::without_places(terms)))
    }

    /// Does work on files beside the connection, which must not wait for it.
    async fn beside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let _place = self.workers.acquire().await.map_err(|error| ToolError::internal(&error))?;
        tokio::task::spawn_blocking(work).await.map_err(|error| ToolError::internal(&error))
    }
}

/// Why the server ended.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The opening exchange failed.
    #[error("the client's opening exchange failed")]
    Opening(#[source] Box<ServerInitializeError>),
    /// The task that serves the connection failed.
    #[error("the connection's task failed")]
    Task(#[from] tokio::task::JoinError),
}

/// Serves one client over stdin and stdout, until it is gone.
///
/// # Errors
/// [`ServeError`] when the connection fails.
pub async fn serve(warden: Warden) -> Result<(), ServeError> {
    let gone = CancellationToken::new();
    let (reader, writer) = rmcp::transport::stdio();
    let handler = Handler::new(warden, gone.clone());
    let running = match Box::pin(handler.serve(transport::over(reader, writer, gone.clone()))).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(ServeError::Opening(Box::new(error))),
    };
    let waiting = running.waiting();
    tokio::pin!(waiting);
    tokio::select! {
        ended = &mut waiting => {
            ended?;
        }
        // rmcp would drain for longer; the client is not there any more.
        () = async { gone.cancelled().await; tokio::time::sleep(FAREWELL).await } => {}
    }
    Ok(())
}

/// Answers the messages of one connection.
struct Handler {
    warden: Arc<Warden>,
    gone: CancellationToken,
    /// The tools that the policy allows.
    tools: Vec<Tool>,
    instructions: String,
}

impl Handler {
    fn new(warden: Warden, gone: CancellationToken) -> Self {
        let permissions = Permissions::of(warden.gate.policy());
        let tools = tools::listed(&permissions.tools);
        let instructions = instructions::instructions(&permissions);
        Self { warden: Arc::new(warden), gone, tools, instructions }
    }

    /// Answers a call in a task of its own, so that a panic is an answer too.
    async fn call(
        &self,
        tool: ToolName,
        arguments: Map<String, Value>,
        client: Option<Client>,
        cancelled: CancellationToken,
    ) -> ToolResult {
        let stop = self.gone.child_token();
        let warden = Arc::clone(&self.warden);
        let work = {
            let stop = stop.clone();
            async move { answer(warden, tool, arguments, client, &stop).await }
        };
        attend(work, &stop, &cancelled).await
    }

    /// Writes down a call of no tool that there is. It is refused in any case; standard error tells of a log that can't
    /// be written.
    async fn record_stranger(
        &self,
        tool: String,
        client: Option<Client>,
        arguments: Map<String, Value>,
        what: String,
    ) {
        let warden = Arc::clone(&self.warden);
        let written = self.warden.beside(move || {
            let call = warden.gate.call(&tool, client, &arguments);
            warden.gate.refuse_tool(call, &what)
        });
        drop(written.await);
    }
}

/// Does the work to its end, with `stop` as the order to end soon once the call is `cancelled`; what panics is answered
/// as an error of the server, whose log has the reason.
async fn attend(
    work: impl Future<Output = ToolResult> + Send + 'static,
    stop: &CancellationToken,
    cancelled: &CancellationToken,
) -> ToolResult {
    let task = tokio::spawn(work);
    let ending = async {
        cancelled.cancelled().await;
        stop.cancel();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        answered = task => answered.unwrap_or_else(|_| {
            Err(ToolError::new(answer::ErrorCode::Internal, "the server failed on this call"))
        }),
        () = ending => Err(ToolError::new(answer::ErrorCode::Internal, "cancelled")),
    }
}

async fn answer(
    warden: Arc<Warden>,
    tool: ToolName,
    arguments: Map<String, Value>,
    client: Option<Client>,
    stop: &CancellationToken,
) -> ToolResult {
    let asked = Arc::clone(&warden);
    let parsed = warden.beside(move || {
        let call = asked.gate.call(tool.as_str(), client, &arguments);
        match Request::parse(tool, arguments, &asked.launch) {
            Ok(request) => Ok((request, call)),
            Err(error) => Err(match asked.gate.refuse_arguments(call, &error) {
                Ok(()) => invalid(tool, &error),
                Err(unwritten) => refusals::unwritten(&unwritten),
            }),
        }
    });
    let (request, call) = parsed.await??;
    match request {
        Request::RunTests(request) => run::run_tests(warden, *request, call, stop).await,
        Request::GetFailedTests(request) => {
            let asked = Arc::clone(&warden);
            warden.beside(move || failed_tests::get_failed_tests(&asked, request, call)).await?
        }
        Request::GetPolicy => {
            let asked = Arc::clone(&warden);
            warden.beside(move || get_policy::get_policy(&asked, call)).await?
        }
    }
}

fn invalid(tool: ToolName, error: &ArgumentError) -> ToolError {
    let message = format!("invalid arguments for {tool}: {error}");
    let refused = ToolError::new(answer::ErrorCode::InvalidArguments, message);
    match error.hint() {
        Some(hint) => refused.with_hint(hint),
        None => refused,
    }
}

/// Who the client claims to be.
fn client(context: &RequestContext<RoleServer>) -> Option<Client> {
    context.client_info().map(|info| Client { name: info.name, version: info.version })
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

fn identity() -> Implementation {
    Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).with_title("Playwright Warden")
}

/// What a modern result says of its server.
fn stamp() -> MetaObject {
    let mut meta = MetaObject::default();
    if let Ok(info) = serde_json::to_value(identity()) {
        meta.insert(SERVER_INFO.to_owned(), info);
    }
    meta
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(identity())
            .with_instructions(&self.instructions)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = ProtocolVersion::KNOWN_VERSIONS.iter().filter(|version| !version.has_initialize());
        let result = DiscoverResult::from_server_info(versions.cloned().collect(), self.get_info());
        Ok(result.with_ttl_ms(TOOLS_TTL).with_cache_scope(CacheScope::Private))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut result = ListToolsResult { tools: self.tools.clone(), ..Default::default() };
        if is_modern(&context) {
            result = result.with_ttl_ms(TOOLS_TTL).with_cache_scope(CacheScope::Private);
            result.meta = Some(stamp());
        }
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (client, arguments) = (client(&context), request.arguments.unwrap_or_default());
        let Some(tool) = ToolName::parse(&request.name).filter(|tool| tool.exists()) else {
            let name: String = request.name.chars().take(64).collect();
            let not_found = ErrorData::invalid_params(format!("Tool {name} not found"), None);
            self.record_stranger(name.clone(), client, arguments, name).await;
            return Err(not_found);
        };
        let answered = self.call(tool, arguments, client, context.ct.clone()).await;
        let mut result = answer::call_result(answered);
        if is_modern(&context) {
            result.meta = Some(stamp());
        }
        Ok(result.into())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    /// rmcp hands malformed parameters of a known method over as an unknown request.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == "tools/call" {
            let (tool, what) = ("tools/call".to_owned(), "malformed params".to_owned());
            self.record_stranger(tool, client(&context), Map::new(), what).await;
        }
        Err(match request.method.as_str() {
            method @ ("tools/call" | "tools/list" | "server/discover") => {
                ErrorData::invalid_params(format!("malformed params for {method}"), None)
            }
            _ => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "Method not found", None),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::answer::Answer;

    fn attended(work: impl Future<Output = ToolResult> + Send + 'static) -> ToolResult {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(attend(work, &CancellationToken::new(), &CancellationToken::new()))
    }

    #[test]
    fn a_call_that_panics_is_answered() {
        let fine = attended(async { Ok(Answer::from_json("{}".to_owned())) });
        assert_eq!(fine.unwrap().into_value(), Value::Object(Map::new()));
        let failed = attended(async { panic!("a fault of the server") }).unwrap_err();
        assert_eq!(failed.code, answer::ErrorCode::Internal);
        assert_eq!(failed.message, "the server failed on this call");
    }
}

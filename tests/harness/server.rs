//! The real server, driven by a real MCP client over its standard input and output.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::Duration,
};

use rmcp::{
    ServiceExt,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, ClientConfig, ClientRequest, ServerResult,
    },
    service::{PeerRequestOptions, RequestHandle, RoleClient, RunningService},
    transport::TokioChildProcess,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::harness::{namespace::Namespace, project::open_to_all, user::User};

/// Longer than any call of these tests takes; a server that hangs fails its test.
const DEADLINE: Duration = Duration::from_mins(2);

/// The binary under test, where every user can execute it: a copy only where root built it in a place of his own.
pub fn binary() -> &'static Path {
    static COPY: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let built = Path::new(env!("CARGO_BIN_EXE_playwright-warden"));
    if User::all().len() == 1 || is_open_to_all(built) {
        return built;
    }
    let (_, path) = COPY.get_or_init(|| {
        let directory = tempfile::Builder::new().prefix("warden-bin-").tempdir().unwrap();
        open_to_all(directory.path());
        let path = directory.path().join("playwright-warden");
        fs::copy(built, &path).unwrap();
        (directory, path)
    });
    path
}

/// Whether everybody may come to a file and execute it.
fn is_open_to_all(file: &Path) -> bool {
    file.ancestors().all(|path| fs::metadata(path).unwrap().permissions().mode() & 0o001 != 0)
}

/// How a server is started: in a cleared environment, with a state directory of its own.
pub struct Setup {
    directory: PathBuf,
    variables: Vec<(String, String)>,
    arguments: Vec<String>,
    policy: Option<String>,
    user: User,
    namespace: Option<Namespace>,
}

impl Setup {
    /// A server that is launched in this directory.
    pub fn in_directory(directory: &Path) -> Self {
        let path = std::env::var("PATH").unwrap();
        Self {
            directory: directory.to_owned(),
            variables: vec![("PATH".to_owned(), path)],
            arguments: Vec::new(),
            policy: None,
            user: User::Same,
            namespace: None,
        }
    }

    /// With this variable.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With this argument.
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// With this policy file; `dirs.allow` is the launch directory unless the text says otherwise.
    pub fn policy(mut self, text: &str) -> Self {
        self.policy = Some(format!("version = 1\n{text}\n"));
        self
    }

    /// In a world of its own.
    pub fn namespace(mut self, namespace: Namespace) -> Self {
        self.namespace = Some(namespace);
        self
    }

    /// Run by this user.
    pub fn user(mut self, user: User) -> Self {
        self.user = user;
        self
    }

    /// The command, and the directory with its policy and its state, which must outlive it.
    pub fn command(&self) -> (Command, TempDir) {
        let own = tempfile::Builder::new().prefix("warden-own-").tempdir().unwrap();
        open_to_all(own.path());
        let state = own.path().join("state");
        fs::create_dir(&state).unwrap();
        open_to_all(&state);
        let mut command = self.user.command(binary());
        if let Some(namespace) = &self.namespace {
            command = namespace.around(&command);
        }
        command.current_dir(&self.directory).env_clear().envs(self.variables.iter().cloned());
        command.arg("--state-dir").arg(&state);
        if let Some(text) = &self.policy {
            // The parent of a policy must not be writable by others.
            let directory = own.path().join("policy");
            fs::create_dir(&directory).unwrap();
            let file = directory.join("policy.toml");
            fs::write(&file, text).unwrap();
            command.arg("--policy").arg(file);
        }
        command.args(&self.arguments);
        (command, own)
    }

    /// Starts the server and opens the connection.
    pub fn start(self) -> Server {
        let (command, own) = self.command();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (client, pid) = runtime.block_on(async {
            let said = own.path().join("stderr");
            let server = TokioChildProcess::builder(tokio::process::Command::from(command));
            let (transport, _) = server.stderr(fs::File::create(&said).unwrap()).spawn().unwrap();
            let pid = transport.id().unwrap();
            let opening =
                tokio::time::timeout(DEADLINE, ClientConfig::default().serve(transport)).await.unwrap();
            let refused = |error| panic!("{error}: {}", fs::read_to_string(said).unwrap());
            (opening.unwrap_or_else(refused), pid)
        });
        Server { client: Some(client), runtime, pid, own }
    }
}

/// A running server; dropping it closes the connection.
pub struct Server {
    client: Option<RunningService<RoleClient, ClientConfig>>,
    runtime: Runtime,
    pid: u32,
    own: TempDir,
}

impl Server {
    /// A server with default policy, launched in this directory.
    pub fn start(directory: &Path) -> Self {
        Setup::in_directory(directory).start()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// What it said on standard error.
    pub fn said(&self) -> String {
        fs::read_to_string(self.own.path().join("stderr")).unwrap()
    }

    /// Its state directory.
    pub fn state(&self) -> PathBuf {
        self.own.path().join("state")
    }

    /// Calls a tool.
    #[must_use = "look at the reply"]
    pub fn call(&self, tool: &str, arguments: Value) -> Reply {
        self.answer(self.begin(tool, arguments))
    }

    /// Calls a tool and does not wait for the answer.
    pub fn begin(&self, tool: &str, arguments: Value) -> Pending {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let call = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(call));
        let peer = self.client.as_ref().unwrap().peer();
        let sending = peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        Pending(self.runtime.block_on(sending).unwrap())
    }

    /// Waits for the answer of a call.
    #[must_use = "look at the reply"]
    pub fn answer(&self, pending: Pending) -> Reply {
        let answering = pending.0.await_response();
        let answered = self.runtime.block_on(async { tokio::time::timeout(DEADLINE, answering).await });
        let result = answered.expect("the call answers within its deadline").expect("the call is answered");
        let ServerResult::CallToolResult(result) = result else { panic!("no answer of a tool: {result:?}") };
        Reply::of(&result)
    }

    /// Cancels a call, as a client does whose user stops it.
    pub fn cancel(&self, pending: Pending) {
        let reason = Some("the user stopped it".to_owned());
        self.runtime.block_on(pending.0.cancel(reason)).unwrap();
    }

    /// Keeps the connection going until this holds.
    pub fn until(&self, what: &str, holds: impl Fn() -> bool) {
        self.runtime.block_on(async {
            let wait = async {
                while !holds() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            tokio::time::timeout(DEADLINE, wait).await.unwrap_or_else(|_| panic!("it never came: {what}"));
        });
    }

    /// The directories of the runs that this server keeps or has active.
    pub fn runs(&self) -> usize {
        fs::read_dir(self.state().join("runs")).unwrap().count()
    }

    /// Runs the project's tests.
    #[must_use = "look at the reply"]
    pub fn run(&self, arguments: Value) -> Reply {
        self.call("run_tests", arguments)
    }

    /// Runs all of the project's tests.
    #[must_use = "look at the reply"]
    pub fn run_all(&self) -> Reply {
        self.run(json!({}))
    }

    /// What `tools/list` gives.
    pub fn tools(&self) -> Vec<Value> {
        let client = self.client.as_ref().unwrap();
        let tools =
            self.runtime.block_on(async { tokio::time::timeout(DEADLINE, client.list_all_tools()).await });
        tools.unwrap().unwrap().into_iter().map(|tool| serde_json::to_value(tool).unwrap()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut client = self.client.take().unwrap();
        drop(self.runtime.block_on(async { tokio::time::timeout(DEADLINE, client.close()).await }));
    }
}

/// A call that was not answered yet.
pub struct Pending(RequestHandle<RoleClient>);

/// What a tool answered.
#[derive(Debug)]
pub struct Reply {
    /// The text block.
    pub text: String,
    /// The text, parsed.
    pub json: Value,
    /// `isError`.
    pub is_error: bool,
}

impl Reply {
    /// Reads a result, and fails if it is not as every answer has to be.
    fn of(result: &CallToolResult) -> Self {
        let is_error = result.is_error == Some(true);
        let text = result.content[0].as_text().unwrap().text.clone();
        let json: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        if is_error {
            assert_eq!(result.structured_content, None, "an error has no structured content");
            assert!(json["code"].is_string() && json["message"].is_string(), "{text}");
        } else {
            assert_eq!(result.structured_content.as_ref(), Some(&json), "both tell the same");
        }
        assert_eq!(result.content.len(), 1, "one block");
        for colour in ["\\u001b", "\\u009b", "\u{1b}", "\u{9b}"] {
            assert!(!text.contains(colour), "terminal codes: {text}");
        }
        Self { text, json, is_error }
    }

    /// The value at a JSON pointer, `null` where there is none.
    pub fn at(&self, pointer: &str) -> &Value {
        self.json.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// The text at a JSON pointer.
    pub fn text_at(&self, pointer: &str) -> &str {
        self.at(pointer).as_str().unwrap_or_else(|| panic!("no text at {pointer} in {}", self.text))
    }

    /// The titles of the tests in the answer.
    pub fn titles(&self) -> Vec<&str> {
        let tests = self.at("/tests").as_array().map(Vec::as_slice).unwrap_or_default();
        tests.iter().filter_map(|test| test["title"].as_str()).collect()
    }

    /// Fails unless this is a refusal with this code.
    pub fn assert_refused(&self, code: &str) -> &Self {
        assert!(self.is_error, "not refused: {}", self.text);
        assert_eq!(self.at("/code"), code, "{}", self.text);
        self
    }

    /// Fails unless this is an answer with these counts.
    pub fn assert_counts(&self, passed: u64, failed: u64) -> &Self {
        assert!(!self.is_error, "refused: {}", self.text);
        let counts = (self.at("/stats/passed").as_u64(), self.at("/stats/failed").as_u64());
        assert_eq!(counts, (Some(passed), Some(failed)), "{}", self.text);
        self
    }
}

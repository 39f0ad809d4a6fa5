//! The wire: which protocol a connection speaks, and what the server answers to what nobody should send.

use serde_json::{Value, json};

use crate::harness::{
    project::Project,
    server::Setup,
    wire::{LEGACY, MODERN, Wire, envelope, initialize},
};

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const UNSUPPORTED_REVISION: i64 = -32022;
const SERVER_INFO: &str = "/_meta/io.modelcontextprotocol~1serverInfo/name";

fn setup(project: &Project) -> Setup {
    Setup::in_directory(project.path())
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
}

#[test]
fn each_legacy_revision_is_spoken() {
    let project = Project::empty();
    for revision in LEGACY {
        let mut wire = Wire::silent(&setup(&project));
        let opened = wire.ask("initialize", initialize(revision));
        assert_eq!(opened["result"]["protocolVersion"], revision);
        assert_eq!(opened["result"]["serverInfo"]["name"], "playwright-warden");
        assert_eq!(opened["result"]["capabilities"], json!({ "tools": {} }));
        assert!(opened["result"]["instructions"].as_str().unwrap().contains("untrusted"));
        wire.assert_alive_and_quiet();
    }
}

#[test]
fn unknown_revision_is_answered_with_the_newest_legacy_one() {
    let project = Project::empty();
    for revision in ["1999-01-01", "2099-01-01", MODERN, "newest"] {
        let mut wire = Wire::silent(&setup(&project));
        let opened = wire.ask("initialize", initialize(revision));
        assert_eq!(opened["result"]["protocolVersion"], "2025-11-25", "{revision}");
        wire.assert_alive_and_quiet();
    }
}

#[test]
fn modern_client_may_discover_first_or_call_at_once() {
    let project = Project::empty();
    let mut wire = Wire::modern(&setup(&project));
    let discovered = wire.ask("server/discover", json!({}))["result"].clone();
    assert_eq!(discovered["supportedVersions"], json!([MODERN]));
    assert_eq!(discovered["capabilities"], json!({ "tools": {} }));
    assert!(discovered["instructions"].as_str().unwrap().contains("untrusted"));
    wire.assert_alive_and_quiet();

    let mut wire = Wire::modern(&setup(&project));
    assert_eq!(wire.call("get_failed_tests", &json!({}))["isError"], true);
    wire.assert_alive_and_quiet();
}

#[test]
fn probe_does_not_choose_the_era() {
    let project = Project::empty();
    let mut wire = Wire::silent(&setup(&project));
    let probe = wire.ask("server/discover", json!({ "_meta": envelope(MODERN) }));
    assert_eq!(probe["result"]["supportedVersions"], json!([MODERN]));
    let opened = wire.ask("initialize", initialize("2025-06-18"));
    assert_eq!(opened["result"]["protocolVersion"], "2025-06-18");
    wire.assert_alive_and_quiet();
}

#[test]
fn modern_results_tell_their_kind_and_their_server_and_legacy_ones_do_not() {
    let project = Project::empty();
    let (mut modern, mut legacy) = (Wire::modern(&setup(&project)), Wire::legacy(&setup(&project)));

    let table = [("server/discover", json!({})), ("tools/list", json!({}))];
    for (method, params) in table {
        let result = modern.ask(method, params)["result"].clone();
        assert_eq!(result["resultType"], "complete", "{method}");
        assert!(result["ttlMs"].as_u64().is_some_and(|ttl| ttl > 0), "{method}");
        assert_eq!(result["cacheScope"], "private", "{method}");
        assert_eq!(result.pointer(SERVER_INFO), Some(&json!("playwright-warden")), "{method}");
    }
    let result = modern.call("get_failed_tests", &json!({}));
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result.pointer(SERVER_INFO), Some(&json!("playwright-warden")));

    let results =
        [legacy.ask("tools/list", json!({}))["result"].clone(), legacy.call("get_failed_tests", &json!({}))];
    for result in results {
        for key in ["resultType", "ttlMs", "cacheScope", "_meta"] {
            assert!(result.get(key).is_none(), "{key} in {result}");
        }
    }
}

#[test]
fn legacy_connection_stays_legacy() {
    let project = Project::empty();
    let mut wire = Wire::legacy(&setup(&project));
    let claimed = wire.ask("tools/list", json!({ "_meta": envelope(MODERN) }));
    assert!(claimed["result"]["tools"].is_array());
    assert!(claimed["result"].get("resultType").is_none(), "{claimed}");
    let unknown = wire.ask("tools/list", json!({ "_meta": envelope("2099-01-01") }));
    assert!(unknown["result"]["tools"].is_array(), "{unknown}");
    let discover = wire.ask("server/discover", json!({ "_meta": envelope(MODERN) }));
    assert_eq!(code(&discover), METHOD_NOT_FOUND);
    assert_eq!(wire.ask("ping", json!({}))["result"], json!({}));
}

#[test]
fn modern_connection_stays_modern() {
    let project = Project::empty();
    let mut wire = Wire::modern(&setup(&project));
    wire.assert_alive_and_quiet();
    let opened = wire.ask("initialize", initialize("2025-11-25"));
    assert_eq!(code(&opened), UNSUPPORTED_REVISION);
    assert_eq!(opened["error"]["data"], json!({ "requested": "2025-11-25", "supported": [MODERN] }));
    let legacy = wire.ask("tools/list", json!({ "_meta": envelope("2025-11-25") }));
    assert_eq!(code(&legacy), UNSUPPORTED_REVISION);
    let bare = wire.ask("tools/list", json!({ "_meta": {} }));
    assert_eq!(code(&bare), INVALID_PARAMS);
    for removed in ["ping", "logging/setLevel"] {
        assert_eq!(code(&wire.ask(removed, json!({ "level": "debug" }))), METHOD_NOT_FOUND, "{removed}");
    }
    wire.assert_alive_and_quiet();
}

#[test]
fn unsupported_modern_revision_is_named_and_the_connection_stays_open() {
    let project = Project::empty();
    for method in ["server/discover", "tools/list"] {
        let mut wire = Wire::silent(&setup(&project));
        let refused = wire.ask(method, json!({ "_meta": envelope("2099-01-01") }));
        assert_eq!(code(&refused), UNSUPPORTED_REVISION, "{method}");
        assert_eq!(refused["error"]["data"], json!({ "requested": "2099-01-01", "supported": [MODERN] }));
        // Either era can still be opened.
        let opened = wire.ask("initialize", initialize("2025-11-25"));
        assert_eq!(opened["result"]["protocolVersion"], "2025-11-25");
    }
}

#[test]
fn what_comes_before_the_first_request_does_not_kill_the_server() {
    let project = Project::empty();
    let silent = [
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"timeout"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Method not found"}}"#,
        "garbage",
        "",
        r#"{"jsonrpc":"2.0","id":1,"method":"#,
        "\u{feff}\u{0}\u{1b}[31m",
    ];
    let mut wire = Wire::silent(&setup(&project));
    for line in silent {
        wire.say_line(line);
    }
    assert!(wire.ask("initialize", initialize("2025-11-25"))["result"].is_object());
    wire.assert_alive_and_quiet();

    let refused = [
        ("tools/list", json!({})),
        ("server/discover", json!({})),
        ("tools/list", json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": MODERN } })),
        ("initialize", json!({ "protocolVersion": 5 })),
        ("initialize", json!({})),
    ];
    let mut wire = Wire::silent(&setup(&project));
    for (method, params) in refused {
        assert_eq!(code(&wire.ask(method, params.clone())), INVALID_PARAMS, "{method} {params}");
    }
    assert!(wire.ask("initialize", initialize("2025-11-25"))["result"].is_object());
    wire.assert_alive_and_quiet();
}

#[test]
fn garbage_between_requests_is_survived() {
    let project = Project::empty();
    let mut wire = Wire::legacy(&setup(&project));
    for line in ["garbage", "", "{", "\u{1b}]0;title\u{7}", "Content-Length: 5"] {
        wire.say_line(line);
        wire.assert_alive_and_quiet();
    }
    // JSON that is no message is told apart from a line that is no JSON.
    for line in ["{}", "null", "[]", r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#] {
        wire.say_line(line);
        assert_eq!(code(&wire.next()), -32600, "{line}");
        wire.assert_alive_and_quiet();
    }
}

#[test]
fn broken_requests_are_told_apart() {
    let project = Project::empty();
    for mut wire in [Wire::legacy(&setup(&project)), Wire::modern(&setup(&project))] {
        let table = [
            ("tools/call", json!({ "name": 5 }), INVALID_PARAMS),
            ("tools/call", json!({}), INVALID_PARAMS),
            ("tools/call", json!({ "name": "run_tests", "arguments": [] }), INVALID_PARAMS),
            ("tools/call", json!({ "name": "run_tests", "arguments": "all" }), INVALID_PARAMS),
            ("tools/call", json!({ "name": "nope" }), INVALID_PARAMS),
            ("tools/call", json!({ "name": "" }), INVALID_PARAMS),
            ("tools/nope", json!({}), METHOD_NOT_FOUND),
            ("resources/list", json!({}), METHOD_NOT_FOUND),
            ("prompts/list", json!({}), METHOD_NOT_FOUND),
            ("roots/list", json!({}), METHOD_NOT_FOUND),
        ];
        for (method, params, expected) in table {
            let answer = wire.ask(method, params.clone());
            assert_eq!(code(&answer), expected, "{method} {params}: {answer}");
        }
        let unknown = wire.ask("tools/call", json!({ "name": format!("nope{}", "e".repeat(5_000)) }));
        assert_eq!(code(&unknown), INVALID_PARAMS);
        assert!(unknown["error"]["message"].as_str().unwrap().len() < 100, "{unknown}");
        wire.assert_alive_and_quiet();
    }
}

#[test]
fn disabled_tool_is_not_listed_and_is_refused() {
    let project = Project::empty();
    let names = |wire: &mut Wire| -> Vec<String> {
        let tools = wire.ask("tools/list", json!({}))["result"]["tools"].clone();
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let mut all = Wire::legacy(&setup(&project));
    let known = names(&mut all);
    assert_eq!(known, ["run_tests", "get_failed_tests", "get_policy"]);

    let policy = "tools.allow = [\"get_failed_tests\"]";
    let mut wire = Wire::legacy(&setup(&project).policy(policy));
    assert_eq!(names(&mut wire), ["get_failed_tests"]);
    let refused = wire.call("run_tests", &json!({}));
    assert_eq!(refused["isError"], true);
    let error: Value = serde_json::from_str(refused["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&error["code"], &error["rule"]), (&json!("policy_denied"), &json!("tools.allow")));
    assert!(error["decision"].is_string(), "{error}");
}

#[test]
fn argument_of_ten_megabytes_is_refused_and_the_server_goes_on() {
    let project = Project::empty();
    let mut wire = Wire::legacy(&setup(&project));
    let large = "x".repeat(10_000_000);
    let table = [
        json!({ "tag": large }),
        json!({ "project": [large] }),
        json!({ "env": { large.as_str(): "1" } }),
        json!({ "workers": large }),
        json!({ large.as_str(): 1 }),
    ];
    for arguments in table {
        let refused = wire.call("run_tests", &arguments);
        let text = refused["content"][0]["text"].as_str().unwrap();
        assert!(refused["isError"] == true && text.len() < 2_000, "{} bytes", text.len());
        assert!(text.contains("invalid_arguments"), "{text}");
    }
    wire.assert_alive_and_quiet();
}

#[test]
fn end_of_input_before_any_request_is_a_good_end() {
    let project = Project::empty();
    let (status, rest) = Wire::silent(&setup(&project)).close();
    assert_eq!((status.code(), rest), (Some(0), vec![]));

    let mut wire = Wire::silent(&setup(&project));
    wire.say_line("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"");
    let (status, rest) = wire.close();
    assert_eq!((status.code(), rest), (Some(0), vec![]));

    let (status, rest) = Wire::legacy(&setup(&project)).close();
    assert_eq!((status.code(), rest), (Some(0), vec![]));
}

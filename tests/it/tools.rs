//! The tools as a client sees them: what is listed, what arguments they take, and that answers are what was announced.

use serde_json::{Value, json};

use crate::harness::{
    project::Project,
    schema::{faults, unplain},
    server::{Server, Setup},
    wire::Wire,
};

/// What a model reads before it has called anything, in bytes.
const LISTING_BYTES: usize = 9_000;

#[test]
fn tools_are_listed_as_they_were_reviewed() {
    let project = Project::empty();
    for tool in Server::start(project.path()).tools() {
        let name = tool["name"].as_str().unwrap().to_owned();
        insta::assert_json_snapshot!(name, tool);
    }
}

#[test]
fn listing_is_short() {
    let project = Project::empty();
    let mut wire = Wire::legacy(&Setup::in_directory(project.path()));
    let listed = wire.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let read = |tool: &Value| {
        let part = |key: &str| tool[key].to_string().len();
        part("name") + part("description") + part("inputSchema")
    };
    let bytes: usize = tools.iter().map(read).sum();
    assert!(bytes < LISTING_BYTES, "{bytes} bytes");
}

#[test]
fn schemas_are_plain() {
    let project = Project::empty();
    let tools = Server::start(project.path()).tools();
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(unplain(&tool[schema], name), [""; 0], "{schema}");
            assert_eq!(tool[schema]["type"], "object", "{schema} of {name}");
        }
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        // Each argument is explained.
        for (argument, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(schema["description"].is_string(), "{name}: {argument}");
        }
        for hint in ["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"].get(hint).is_some(), "{name}: {hint}");
        }
    }
}

#[test]
fn answers_are_what_their_schema_says_and_the_text_says_the_same() {
    let project = Project::new().spec(
        "tests/many.spec.ts",
        "test('passes', () => {});
         test('fails', { tag: '@tag', annotation: { type: 'issue', description: 'one' } }, async () => {
           console.log('said'); console.error('complained');
           await test.info().attach('note', { body: 'text' });
           expect.soft(1).toBe(2);
           expect(3).toBe(4);
         });
         test('is slow', async () => { test.setTimeout(50); await new Promise(() => {}); });
         test.fail('is expected to fail', () => {});
         test.describe('with a hook', () => { test.beforeAll(() => { throw new Error('hook'); }); test('a', () => {}); test('b', () => {}); });
         test.skip('is skipped', () => {});",
    );
    let broken = Project::new().file("playwright.config.ts", "throw new Error('no config today');");
    let mut wire = Wire::modern(&Setup::in_directory(project.parent()).policy(&format!(
        "dirs.allow = ['{}', '{}']",
        project.path().display(),
        broken.path().display()
    )));
    let listed = wire.ask("tools/list", json!({}))["result"]["tools"].clone();
    let schema = |name: &str| -> Value {
        let tools = listed.as_array().unwrap();
        tools.iter().find(|tool| tool["name"] == name).unwrap()["outputSchema"].clone()
    };
    let (here, there) = (project.path().to_str().unwrap(), broken.path().to_str().unwrap());
    let calls = [
        ("run_tests", json!({ "workingDirectory": here, "retries": 1 })),
        ("run_tests", json!({ "workingDirectory": here, "include": "all", "tag": "passes|skipped" })),
        ("run_tests", json!({ "workingDirectory": there })),
        ("get_failed_tests", json!({ "workingDirectory": here })),
        ("get_failed_tests", json!({ "workingDirectory": here, "include": "all", "limit": 1 })),
        ("get_policy", json!({})),
    ];
    for (tool, arguments) in calls {
        let result = wire.call(tool, &arguments);
        let (structured, text) =
            (&result["structuredContent"], result["content"][0]["text"].as_str().unwrap());
        assert_eq!(result["isError"], false, "{tool} {arguments}: {text}");
        assert_eq!(faults(&schema(tool), structured, tool), [""; 0], "{arguments}");
        assert_eq!(structured.to_string(), text);
        assert!(!text.contains(":null"), "absent, not null: {text}");
    }
    // A refusal has no structured content: it would not be what the schema says.
    let refused = wire.call("run_tests", &json!({ "workingDirectory": "/etc" }));
    assert_eq!((&refused["isError"], refused.get("structuredContent")), (&json!(true), None));
}

//! Page tests as real projects have them: a web server, a trace, a video, screenshots, all within the sandbox.

use std::{fs, net::TcpListener, path::Path};

use serde_json::json;

use crate::harness::{
    browser,
    project::Project,
    server::{Reply, Setup},
    user::User,
};

/// A web server, as a project would start it.
const WEB_SERVER: &str = "import http from 'node:http';\n\
    const page = '<!doctype html><title>Shop</title><button onclick=\"fetch(`/price`).then(r => r.text())\
    .then(t => price.textContent = t)\">Price</button><output id=price></output>';\n\
    http.createServer((request, response) => {\n\
      response.setHeader('content-type', 'text/html');\n\
      response.end(request.url === '/price' ? '42' : page);\n\
    }).listen(Number(process.env.PORT), '127.0.0.1');\n";

/// Two page tests; the second fails, so that there is something to look at.
const SPEC: &str = "test('shows the price', async ({ page }) => {\n\
      await page.goto('/');\n\
      await page.getByRole('button', { name: 'Price' }).click();\n\
      await expect(page.locator('#price')).toHaveText('42');\n\
      await page.screenshot({ path: test.info().outputPath('by-hand.png') });\n\
    });\n\
    test('shows another price', async ({ page }) => {\n\
      await page.goto('/');\n\
      await page.getByRole('button', { name: 'Price' }).click();\n\
      await expect(page.locator('#price')).toHaveText('43', { timeout: 500 });\n\
    });\n\
    test('asks the server itself', async ({ request }) => {\n\
      expect(await (await request.get('/price')).text()).toBe('42');\n\
    });";

/// A project with a web server, whose config is `playwright.config.ts` with these `use` settings.
fn shop(settings: &str) -> Project {
    // Free now; whoever takes it before the web server does makes the run fail, and says so.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!(
        "use: {{ baseURL: 'http://127.0.0.1:{port}', trace: 'on', video: 'on', screenshot: 'on', {settings} }},\n\
         webServer: {{ command: 'npm run serve', url: 'http://127.0.0.1:{port}', reuseExistingServer: false, \
         env: {{ ...process.env, PORT: '{port}' }} }},"
    );
    let manifest = r#"{ "name": "shop", "private": true, "scripts": { "serve": "node server.mjs" } }"#;
    let project = Project::new().file("server.mjs", WEB_SERVER).file("package.json", manifest);
    project.config(&config).spec("tests/shop.spec.ts", SPEC)
}

/// Runs a project with the browsers' directory of the tests, which the policy lets it read.
fn run(user: User, project: &Project, sandbox: &str, look: impl Fn(&Reply)) {
    let browsers = browser::directory();
    let browsers = browsers.path().to_str().unwrap();
    let policy = format!("[sandbox]\nread = [\"{browsers}\"]\n{sandbox}");
    let setup = Setup::in_directory(project.path()).policy(&policy).user(user);
    let server = setup.variable("PLAYWRIGHT_BROWSERS_PATH", browsers).start();
    look(&server.run(json!({ "include": "all" })));
}

/// Fails unless the two good tests passed, the bad one failed, and all three kinds of pictures are there.
fn assert_complete(reply: &Reply, context: &str) {
    reply.assert_counts(2, 1);
    assert_eq!(reply.text_at("/state"), "failed", "{context}: {}", reply.text);
    assert!(reply.at("/hints").is_null(), "{context}: {}", reply.text);
    assert!(reply.at("/errors").is_null(), "{context}: {}", reply.text);
    let out = Path::new(reply.text_at("/resultsFile")).with_file_name("out");
    let mut names = Vec::new();
    let mut waiting = vec![out];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                waiting.push(entry.path());
            } else if entry.metadata().unwrap().len() > 0 {
                names.push(entry.file_name().into_string().unwrap());
            }
        }
    }
    let count = |end: &str| names.iter().filter(|name| name.ends_with(end)).count();
    assert_eq!(count("trace.zip"), 3, "{context}: {names:?}");
    assert_eq!(count(".webm"), 2, "{context}: {names:?}");
    assert_eq!(count("by-hand.png"), 1, "{context}: {names:?}");
    assert_eq!(count("test-failed-1.png"), 1, "{context}: {names:?}");
    assert_eq!(count("test-finished-1.png"), 1, "{context}: {names:?}");
}

#[test]
fn page_tests_with_a_web_server_trace_video_and_screenshots_run_confined() {
    for &user in User::all() {
        let project = shop("");
        for (sandbox, level) in [
            ("mode = \"require\"\nproject = \"read-only\"", "full"),
            ("mode = \"require\"\nproject = \"outputs\"", "full"),
            ("mode = \"best-effort\"\nproject = \"read-write\"", "partial"),
        ] {
            run(user, &project, sandbox, |reply| {
                assert_complete(reply, &format!("{sandbox} as {user:?}"));
                assert_eq!(reply.text_at("/sandbox/level"), level);
            });
        }
    }
}

#[test]
fn full_chromium_needs_unix_sockets_and_the_hint_says_so() {
    for &user in User::all() {
        let project = shop("channel: 'chromium'");
        let strict = "mode = \"require\"\nproject = \"read-only\"";
        run(user, &project, &format!("{strict}\nunix_sockets = \"allow\""), |reply| {
            assert_complete(reply, &format!("full Chromium as {user:?}"));
            assert_eq!(reply.text_at("/sandbox/level"), "full");
        });
        run(user, &project, strict, |reply| {
            reply.assert_counts(1, 2);
            let hints = reply.at("/hints").to_string();
            assert!(hints.contains("`sandbox.unix_sockets = \\\"allow\\\"`"), "{}", reply.text);
        });
    }
}

#[test]
fn a_file_url_opens_nothing_outside_the_scopes() {
    for &user in User::all() {
        let outside = tempfile::Builder::new().prefix("warden-outside-").tempdir().unwrap();
        crate::harness::project::open_to_all(outside.path());
        fs::write(outside.path().join("page.html"), "<h1>secret</h1>").unwrap();
        let statements = format!(
            "test('opens', async ({{ page }}) => {{ await page.goto('file://{}/page.html'); \
             await expect(page.locator('h1')).toHaveText('secret'); }});",
            outside.path().display()
        );
        let project = Project::new().config(&browser::headless_shell()).spec("tests/a.spec.ts", &statements);
        let run =
            |policy: &str| Setup::in_directory(project.path()).policy(policy).user(user).start().run_all();
        let refused = run("");
        refused.assert_counts(0, 1);
        assert!(refused.text_at("/tests/0/error").contains("ERR_ACCESS_DENIED"), "{}", refused.text);
        run("[sandbox]\nmode = \"off\"").assert_counts(1, 0);
    }
}

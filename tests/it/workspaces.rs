//! Projects within workspaces, as npm and pnpm lay them out: Playwright lies above the project, or behind links.

use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{
    project::{NEWEST, install, open_to_all, playwright},
    server::{Reply, Setup},
    user::User,
};

/// The policies under which a workspace's tests run; the strict one proves that nothing is missing from the read scope.
const POLICIES: [&str; 2] =
    ["", "[sandbox]\nmode = \"require\"\nproject = \"read-only\"\nnetwork = \"none\""];

/// A directory `ws` with a project in `packages/app`, and a neighbour in `packages/shared`.
struct Workspace {
    root: TempDir,
}

impl Workspace {
    fn new() -> Self {
        let root = tempfile::Builder::new().prefix("warden-ws-").tempdir().unwrap();
        let workspace = Self { root };
        for directory in
            ["", "ws", "ws/packages", "ws/packages/app", "ws/packages/app/tests", "ws/packages/shared"]
        {
            let path = workspace.at(directory);
            fs::create_dir_all(&path).unwrap();
            open_to_all(&path);
        }
        workspace
            .file("ws/package.json", r#"{ "name": "ws", "private": true, "workspaces": ["packages/*"] }"#);
        // Both are read whatever test runs, since they stand above it; the second through the first.
        workspace.file("ws/tsconfig.json", r#"{ "extends": "./tsconfig.base.json" }"#);
        workspace.file(
            "ws/tsconfig.base.json",
            r#"{ "compilerOptions": { "baseUrl": ".", "paths": { "@app/*": ["packages/app/*"] } } }"#,
        );
        workspace.file("ws/packages/app/package.json", r#"{ "name": "app", "private": true }"#);
        workspace.file(
            "ws/packages/app/playwright.config.ts",
            "import { defineConfig } from '@playwright/test';\nexport default defineConfig({ testDir: './tests', workers: 1 });\n",
        );
        workspace.file("ws/packages/app/page.ts", "export const price: number = 42;\n");
        workspace.file(
            "ws/packages/app/tests/own.spec.ts",
            "import { test, expect } from '@playwright/test';\nimport { price } from '@app/page';\n\
             test('knows the price', () => { expect(price).toBe(42); });\n",
        );
        workspace.file("ws/packages/shared/package.json", r#"{ "name": "shared", "main": "index.js" }"#);
        workspace.file("ws/packages/shared/index.js", "exports.currency = '€';\n");
        workspace
    }

    /// As npm does it: everything in the workspace's own `node_modules`, the packages of the workspace as links.
    fn npm() -> Self {
        let workspace = Self::new();
        install(NEWEST, &workspace.at("ws"));
        for name in ["app", "shared"] {
            symlink(Path::new("../packages").join(name), workspace.at("ws/node_modules").join(name)).unwrap();
        }
        workspace
    }

    /// As pnpm does it: each package in a store of its own beside links to what it needs; in a project nothing but links.
    fn pnpm() -> Self {
        let workspace = Self::new();
        let store = workspace.at("ws/node_modules/.pnpm");
        let stored = |package: &str| {
            let flat = package.replace('/', "+");
            store.join(format!("{flat}@{NEWEST}/node_modules"))
        };
        for (package, needs) in [
            ("playwright-core", None),
            ("playwright", Some("playwright-core")),
            ("@playwright/test", Some("playwright")),
        ] {
            let modules = stored(package);
            fs::create_dir_all(modules.join(package).parent().unwrap()).unwrap();
            let copied = Path::new("cp");
            let done = User::Same
                .command(copied)
                .arg("-r")
                .arg(playwright(NEWEST).join(package))
                .arg(modules.join(package))
                .status();
            assert!(done.unwrap().success());
            if let Some(needed) = needs {
                symlink(
                    Path::new("../..").join(format!("{needed}@{NEWEST}/node_modules/{needed}")),
                    modules.join(needed),
                )
                .unwrap();
            }
        }
        let modules = workspace.at("ws/packages/app/node_modules");
        fs::create_dir_all(modules.join("@playwright")).unwrap();
        let flat = format!("@playwright+test@{NEWEST}");
        let target = format!("../../../../node_modules/.pnpm/{flat}/node_modules/@playwright/test");
        symlink(target, modules.join("@playwright/test")).unwrap();
        symlink("../../shared", modules.join("shared")).unwrap();
        workspace
    }

    fn file(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).unwrap();
    }

    fn with_git(self) -> Self {
        fs::create_dir(self.at("ws/.git")).unwrap();
        self
    }

    /// With a test that needs the neighbour.
    fn with_test_of_shared(self) -> Self {
        self.file(
            "ws/packages/app/tests/shared.spec.ts",
            "import { test, expect } from '@playwright/test';\nimport { currency } from 'shared';\n\
             test('knows the currency', () => { expect(currency).toBe('€'); });\n",
        );
        self
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    /// Runs the app's tests with a server that is launched in this directory.
    fn run(&self, user: User, launched: &str, policy: &str, arguments: Value) -> Reply {
        Setup::in_directory(&self.at(launched)).policy(policy).user(user).start().run(arguments)
    }
}

#[test]
fn a_project_runs_where_only_its_own_directory_is_allowed() {
    for &user in User::all() {
        for workspace in [Workspace::npm(), Workspace::pnpm(), Workspace::npm().with_git()] {
            for policy in POLICIES {
                workspace.run(user, "ws/packages/app", policy, json!({})).assert_counts(1, 0);
            }
        }
    }
}

#[test]
fn a_neighbour_is_read_once_the_workspace_is_allowed() {
    for &user in User::all() {
        for workspace in [Workspace::npm(), Workspace::pnpm()] {
            let workspace = workspace.with_git().with_test_of_shared();
            let app = json!({ "workingDirectory": "packages/app" });
            for policy in POLICIES {
                workspace.run(user, "ws", policy, app.clone()).assert_counts(2, 0);
            }
            let alone = workspace.run(user, "ws/packages/app", "", json!({}));
            assert_eq!(alone.at("/ok"), false, "{}", alone.text);
            let hints = alone.at("/hints").to_string();
            assert!(hints.contains("`sandbox.read`") && hints.contains("shared"), "{}", alone.text);

            let shared = workspace.at("ws/packages/shared");
            let opened = format!("[sandbox]\nread = [\"{}\"]", shared.display());
            workspace.run(user, "ws/packages/app", &opened, json!({})).assert_counts(2, 0);
        }
    }
}

#[test]
fn what_else_lies_in_a_workspace_stays_closed_to_a_project_that_is_allowed_alone() {
    for &user in User::all() {
        let workspace = Workspace::npm().with_git();
        workspace.file("ws/.env", "KEY=value\n");
        workspace.file(
            "ws/packages/app/tests/own.spec.ts",
            "import { test } from '@playwright/test';\nimport fs from 'node:fs';\n\
             test('reads above', () => { fs.readFileSync('../../.env'); });\n\
             test('writes above', () => { fs.writeFileSync('../../node_modules/planted.js', ''); });\n",
        );
        let refused = workspace.run(user, "ws/packages/app", "", json!({}));
        refused.assert_counts(0, 2);
        let hints = refused.at("/hints").to_string();
        assert!(hints.contains(".env") && hints.contains("planted.js"), "{}", refused.text);
        workspace.run(user, "ws/packages/app", "[sandbox]\nmode = \"off\"", json!({})).assert_counts(2, 0);
    }
}

//! What no policy can lift, as tables: names that a call may never set, and variables that a run never inherits.
//!
//! In: a variable's name. Out: the row that refuses it. Names are compared without regard to case, because some
//! programs read them so. Which names a policy lists is left to `env.allow` and `env.inherit`.

use std::fmt;

/// Names and prefixes that are refused for one reason.
struct Group {
    why: &'static str,
    prefixes: &'static [&'static str],
    names: &'static [&'static str],
}

/// Names that a call may never set.
const GROUPS: &[Group] = &[
    Group {
        why: "makes Node or a package manager load, run or write something",
        prefixes: &[
            "NODE_",
            "NPM_",
            "PNPM_",
            "YARN_",
            "COREPACK_",
            "BUN_",
            "DENO_",
            "TS_NODE_",
            "BABEL_",
            "BROWSERSLIST",
            "DOTENV_",
            "NVM_",
            "VOLTA_",
            "FNM_",
            "ASDF_",
            "MISE_",
            "ELECTRON_",
            "UV_",
            "V8_",
        ],
        names: &["INIT_CWD", "DEBUG", "DEBUG_FILE"],
    },
    Group {
        why: "steers Playwright, its reporters or this server",
        prefixes: &["PW_", "PWTEST_", "PWDEBUG", "PWMCP_", "PLAYWRIGHT_"],
        names: &["PWPAUSE"],
    },
    Group {
        why: "makes the loader or the C library load or write something",
        prefixes: &["LD_", "DYLD_", "GLIBC_", "MALLOC_"],
        names: &["GCONV_PATH", "LOCPATH", "NLSPATH", "HOSTALIASES", "RES_OPTIONS", "LOCALDOMAIN", "TZDIR"],
    },
    Group {
        why: "makes a shell run something, or changes what it finds",
        prefixes: &["BASH_FUNC_", "BASH_"],
        names: &[
            "PATH",
            "SHELL",
            "IFS",
            "PS4",
            "SHELLOPTS",
            "BASHOPTS",
            "PROMPT_COMMAND",
            "CDPATH",
            "ZDOTDIR",
            "FPATH",
            "GLOBIGNORE",
            "MAKEFLAGS",
            "COMSPEC",
            "PATHEXT",
        ],
    },
    Group {
        why: "says who and where the user is",
        prefixes: &["XDG_", "SUDO_"],
        names: &[
            "HOME",
            "USER",
            "LOGNAME",
            "USERNAME",
            "USERPROFILE",
            "PWD",
            "OLDPWD",
            "TMPDIR",
            "TMP",
            "TEMP",
        ],
    },
    Group {
        why: "makes another language run or load something",
        prefixes: &[
            "PYTHON", "PERL", "RUBY", "GEM_", "BUNDLE_", "JAVA_", "_JAVA_", "JDK_", "DOTNET_", "CORECLR_",
            "PHP_", "LUA_",
        ],
        names: &["CLASSPATH", "MAVEN_OPTS", "GRADLE_OPTS"],
    },
    Group {
        why: "makes a program that tests start run something",
        prefixes: &["GIT_", "SSH_", "LESS"],
        names: &[
            "EDITOR",
            "VISUAL",
            "PAGER",
            "MANPAGER",
            "BROWSER",
            "AWS_CONFIG_FILE",
            "AWS_SHARED_CREDENTIALS_FILE",
            "KUBECONFIG",
            "DOCKER_CONFIG",
            "DOCKER_HOST",
        ],
    },
    Group {
        why: "makes a browser or its driver load, run or write something",
        prefixes: &[
            "CHROME_",
            "CHROMIUM_",
            "MOZ_",
            "WEBKIT_",
            "SELENIUM_",
            "GTK_",
            "GIO_",
            "GST_",
            "QT_",
            "GDK_",
            "MESA_",
            "LIBGL_",
            "EGL_",
            "__EGL_",
            "__GLX_",
            "GALLIUM_",
            "VK_",
            "FONTCONFIG_",
            "PULSE_",
            "ALSA_",
        ],
        names: &["DISPLAY", "WAYLAND_DISPLAY", "SSLKEYLOGFILE"],
    },
    Group {
        why: "sends traffic elsewhere, or changes whom it trusts",
        prefixes: &["SSL_", "OPENSSL_", "CURL_", "DBUS_"],
        names: &[
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "NO_PROXY",
            "FTP_PROXY",
            "WS_PROXY",
            "WSS_PROXY",
            "REQUESTS_CA_BUNDLE",
        ],
    },
];

/// Parts of names that hold secrets, which a call has no business to set.
const SECRETS: &[&str] = &[
    "PASSWORD",
    "PASSWD",
    "SECRET",
    "TOKEN",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "CREDENTIAL",
    "PRIVATE_KEY",
    "AUTH_SOCK",
    "AUTH_CONFIG",
];

const SECRET_WHY: &str = "looks like the name of a secret";

/// The one name that a prefix would refuse and that tests are steered with; written just so.
const EXCEPTED: &str = "PLAYWRIGHT_TEST_BASE_URL";

/// Variables that tests always see, if the server has them.
pub const ALWAYS_INHERITED: &[&str] = &["PATH", "LANG", "TZ", "TERM"];

/// Variables that a run never inherits, whatever `env.inherit` says; `*` stands for any characters.
///
/// `NODE_OPTIONS` is not among them: the server's own is the user's, for example a larger heap.
const NEVER_INHERITED: &[(&str, &str)] = &[
    ("PW_ALLOWED_*", "is for this server"),
    ("PW_POLICY_FILE", "is for this server"),
    ("PW_RESULTS_FILE", "is for this server"),
    ("PW_TEST_REPORTER*", "would replace the reporter that tells this server of the run"),
    ("PLAYWRIGHT_JSON_ONLY_FAILURES", "would take the passed tests out of the report"),
    ("PLAYWRIGHT_JSON_OUTPUT_*", "would send reports where this server does not expect them"),
    ("PLAYWRIGHT_*_OUTPUT_NAME", "would send reports where this server does not expect them"),
    ("PLAYWRIGHT_*_OUTPUT_FILE", "would send reports where this server does not expect them"),
    ("PLAYWRIGHT_*_OUTPUT_DIR", "would send reports where this server does not expect them"),
    ("PLAYWRIGHT_HTML_OPEN", "would make a run wait for a person"),
    ("PW_TEST_HTML_REPORT_OPEN", "would make a run wait for a person"),
    ("PWDEBUG", "would make a run wait for a person"),
    ("PWPAUSE", "would make a run wait for a person"),
    ("NODE_CHANNEL_*", "names a channel that a run does not have, and Node fails without it"),
    ("NODE_UNIQUE_ID", "would make Node a cluster worker of a process that is not its parent"),
];

/// How a row of the denylist compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The whole name.
    Name,
    /// Its start.
    Prefix,
    /// Any part of it.
    Part,
}

/// A row of the denylist, and so why a name is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeniedBecause {
    /// How it compares.
    pub rule: Rule,
    /// What is compared, in capitals.
    pub text: &'static str,
    /// What such a variable would do.
    pub why: &'static str,
}

impl fmt::Display for DeniedBecause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = match self.rule {
            Rule::Name => "name",
            Rule::Prefix => "prefix",
            Rule::Part => "part",
        };
        write!(out, "fixed denylist: {rule} `{}`: {}", self.text, self.why)
    }
}

/// Gives all rows, as `--print-denylist` prints them: whole names before prefixes before parts.
pub fn rows() -> impl Iterator<Item = DeniedBecause> {
    let names = GROUPS.iter().flat_map(|group| group.names.iter().map(|name| (Rule::Name, *name, group.why)));
    let prefixes = GROUPS
        .iter()
        .flat_map(|group| group.prefixes.iter().map(|prefix| (Rule::Prefix, *prefix, group.why)));
    let parts = SECRETS.iter().map(|part| (Rule::Part, *part, SECRET_WHY));
    names.chain(prefixes).chain(parts).map(|(rule, text, why)| DeniedBecause { rule, text, why })
}

/// Says why a call may never set a variable; `None` where the policy decides.
#[must_use]
pub fn verdict(name: &str) -> Option<DeniedBecause> {
    if name == EXCEPTED {
        return None;
    }
    let name = name.to_ascii_uppercase();
    rows().find(|row| match row.rule {
        Rule::Name => name == row.text,
        Rule::Prefix => name.starts_with(row.text),
        Rule::Part => name.contains(row.text),
    })
}

/// Says why no name that starts with `start` can be set by a call; `None` where some may.
#[must_use]
pub fn verdict_on_start(start: &str) -> Option<DeniedBecause> {
    let start = start.to_ascii_uppercase();
    // Of the excepted name's own prefix, something is left to the policy.
    if EXCEPTED.starts_with(&start) {
        return None;
    }
    rows().find(|row| match row.rule {
        Rule::Name => false,
        Rule::Prefix => start.starts_with(row.text),
        Rule::Part => start.contains(row.text),
    })
}

/// Says why no name that holds `part` can be set by a call; `None` where some may.
#[must_use]
pub fn verdict_on_part(part: &str) -> Option<DeniedBecause> {
    let part = part.to_ascii_uppercase();
    rows().find(|row| row.rule == Rule::Part && part.contains(row.text))
}

/// Says why a run never inherits a variable; `None` where the policy decides.
#[must_use]
pub fn never_inherited(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_uppercase();
    NEVER_INHERITED.iter().find(|(pattern, _)| fits(pattern, &name)).map(|(_, why)| *why)
}

/// Compares with a pattern of at most one `*`.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{never_inherited, rows, verdict, verdict_on_part, verdict_on_start};

    #[test]
    fn names_that_make_something_run_are_denied_in_any_case() {
        let denied = [
            "PATH",
            "Path",
            "HOME",
            "NODE_OPTIONS",
            "node_options",
            "LD_PRELOAD",
            "DYLD_INSERT_LIBRARIES",
            "NPM_CONFIG_SCRIPT_SHELL",
            "npm_config_registry",
            "DOTENV_CONFIG_PATH",
            "HTTP_PROXY",
            "https_proxy",
            "ALL_PROXY",
            "NO_PROXY",
            "FTP_PROXY",
            "PW_TEST_REPORTER",
            "PW_ALLOWED_DIRS",
            "PWDEBUG",
            "PWTEST_CACHE_DIR",
            "PLAYWRIGHT_JSON_OUTPUT_FILE",
            "PLAYWRIGHT_BROWSERS_PATH",
            "playwright_test_base_url",
            "BASH_ENV",
            "BASH_FUNC_x",
            "GIT_SSH_COMMAND",
            "PYTHONPATH",
            "PERL5OPT",
            "RUBYOPT",
            "JAVA_TOOL_OPTIONS",
            "TMPDIR",
            "XDG_CONFIG_HOME",
            "SSL_CERT_FILE",
            "SSLKEYLOGFILE",
            "DISPLAY",
            "FONTCONFIG_FILE",
            "GTK_MODULES",
            "OPENSSL_CONF",
            "ELECTRON_RUN_AS_NODE",
            "INIT_CWD",
            "DEBUG",
        ];
        for name in denied {
            assert!(verdict(name).is_some(), "{name}");
        }
    }

    #[test]
    fn names_that_look_secret_are_denied() {
        for name in [
            "E2E_PASSWORD",
            "MY_SECRET",
            "GITHUB_TOKEN",
            "X_API_KEY",
            "DB_CREDENTIALS",
            "SSH_AUTH_SOCK",
            "a_token_b",
        ] {
            assert!(verdict(name).is_some(), "{name}");
        }
    }

    #[test]
    fn names_that_steer_tests_are_left_to_the_policy() {
        for name in [
            "BASE_URL",
            "ENV",
            "CI",
            "TEST_USER",
            "PLAYWRIGHT_TEST_BASE_URL",
            "STAGE",
            "LOCALE",
            "FEATURE_FLAGS",
        ] {
            assert_eq!(verdict(name), None, "{name}");
        }
    }

    #[test]
    fn start_is_denied_when_all_that_goes_on_from_it_is() {
        for start in ["NODE_", "node_o", "PW_TEST_", "MY_SECRET_", "PLAYWRIGHT_JSON_"] {
            assert!(verdict_on_start(start).is_some(), "{start}");
        }
        for start in ["", "NOD", "TEST_", "PLAYWRIGHT_TEST_", "PATH"] {
            assert!(verdict_on_start(start).is_none(), "{start}");
        }
        assert!(verdict_on_part("_token").is_some() && verdict_on_part("TOKE").is_none());
    }

    #[test]
    fn rows_are_in_capitals_and_stand_once() {
        let mut texts: Vec<_> = rows().map(|row| (row.text, format!("{:?}", row.rule))).collect();
        assert!(texts.iter().all(|(text, _)| *text == text.to_ascii_uppercase()));
        let all = texts.len();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), all);
    }

    #[test]
    fn run_inherits_nothing_that_steers_the_reporter_or_this_server() {
        let never = [
            "PW_TEST_REPORTER",
            "PW_TEST_REPORTER_WS_ENDPOINT",
            "PLAYWRIGHT_JSON_OUTPUT_NAME",
            "PLAYWRIGHT_JSON_OUTPUT_DIR",
            "PLAYWRIGHT_JUNIT_OUTPUT_FILE",
            "PLAYWRIGHT_BLOB_OUTPUT_NAME",
            "PLAYWRIGHT_HTML_OUTPUT_DIR",
            "PLAYWRIGHT_JSON_ONLY_FAILURES",
            "PWDEBUG",
            "PW_ALLOWED_DIRS",
            "PW_ALLOWED_ENV",
            "PW_POLICY_FILE",
            "PW_RESULTS_FILE",
            "NODE_CHANNEL_FD",
        ];
        for name in never {
            assert!(never_inherited(name).is_some(), "{name}");
        }
        for name in [
            "NODE_OPTIONS",
            "PLAYWRIGHT_BROWSERS_PATH",
            "PW_TEST_CONNECT_WS_ENDPOINT",
            "CI",
            "HOME",
            "PLAYWRIGHT_OUTPUT_DIR",
        ] {
            assert_eq!(never_inherited(name), None, "{name}");
        }
    }
}

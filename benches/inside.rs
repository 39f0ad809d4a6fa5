//! What the server does with its own hands: the policy, a decision, reports, untrusted text, filters for the kernel.
//!
//! In: the example policy, and reports of `benches/process/report.mjs`. Out: criterion's figures; a report stands
//! beside a plain parse of the same bytes, so that the ratio says something on any machine.

#![expect(clippy::disallowed_methods, reason = "a bench makes its own files and starts Node for them")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a bench that can't be set up fails")]
#![expect(missing_docs, reason = "criterion's macro makes a public function")]

use std::{
    hint::black_box, io::Write as _, os::unix::fs::PermissionsExt, path::Path, process::Command,
    time::Duration,
};

use criterion::{BatchSize, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use playwright_warden::{
    audit::{
        AuditLog,
        context::Context,
        file::LogFile,
        record::{Decided, DecisionId, Record, Verdict},
    },
    path::handle::DirHandle,
    policy::{
        confinement::{Network, ProjectAccess, SandboxMode, UnixSockets},
        load,
        request::run_tests::RunTests,
        source::{Inputs, system::SystemDir},
    },
    report::json::read,
    sandbox::{Plan, ProcessLimits, seccomp},
    text::printable,
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// A user whose policy is a sample of the repository, launched in a directory of his.
fn world(sample: &str) -> (TempDir, Inputs) {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().canonicalize().unwrap();
    std::fs::create_dir_all(path.join("launch/shop")).unwrap();
    let file = path.join("policy.toml");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(sample), &file).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    let inputs = Inputs {
        launch_dir: path.join("launch"),
        environment: std::env::vars_os().collect(),
        home: Some(path.clone()),
        uid: rustix::process::geteuid().as_raw(),
        policy_option: Some(file),
        system_dir: SystemDir { path: path.join("etc"), owner_uid: rustix::process::geteuid().as_raw() },
        state_dir: None,
        program: None,
    };
    (root, inputs)
}

fn policy(criterion: &mut Criterion) {
    let (_strict, inputs) = world("docs/policy.strict.toml");
    criterion.bench_function("policy/load and compile the strict sample", |bencher| {
        bencher.iter(|| load(black_box(&inputs)).policy.unwrap());
    });
    let (_root, inputs) = world("policy.example.toml");
    criterion.bench_function("policy/load and compile the example", |bencher| {
        bencher.iter(|| load(black_box(&inputs)).policy.unwrap());
    });

    let policy = load(&inputs).policy.unwrap();
    let launch = DirHandle::open(&inputs.launch_dir).unwrap();
    let Value::Object(arguments) = json!({ "workingDirectory": "shop", "spec": "tests/cart.spec.ts:12", "workers": "50%", "tag": "@smoke" })
    else {
        panic!("arguments are an object");
    };
    let parsed = |arguments: Map<String, Value>| RunTests::parse(arguments, &launch).unwrap();
    criterion.bench_function("policy/parse a call of run_tests", |bencher| {
        bencher.iter_batched(|| arguments.clone(), parsed, BatchSize::SmallInput);
    });
    let request = parsed(arguments.clone());
    criterion.bench_function("policy/decide on it", |bencher| {
        bencher.iter(|| policy.decide_run(black_box(&request)));
    });
}

fn audit(criterion: &mut Criterion) {
    let (_root, inputs) = world("policy.example.toml");
    let context = Context::of(&load(&inputs).policy.unwrap());
    let decision = DecisionId::draw().unwrap();
    let log = AuditLog::new(load(&inputs).policy.unwrap().audit(), None, context.clone());
    let call = log.call("run_tests", None, &Map::new());
    let (rule, place) = ("dirs.allow".to_owned(), "/etc/playwright-warden/policy.toml:4:10".to_owned());
    let subject = "/srv/shop".to_owned();
    let decided = Decided { decision, call, verdict: Verdict::Allow, rule, place, subject, sandbox: None };
    let record = Record::Decided(Box::new(decided));
    // A sync costs nothing where there is no disk.
    for (name, place) in [("on a disk", std::env::temp_dir()), ("in memory", "/dev/shm".into())] {
        let directory = tempfile::tempdir_in(place).unwrap();
        let mut log = LogFile::new(&directory.path().join("audit.jsonl"), None);
        let entry = log.append(&context, &record).unwrap().pop().unwrap();
        let line = vec![b'x'; entry.line.len() + 1];
        let mut group = criterion.benchmark_group(format!("audit {name}"));
        group.bench_function("write a record and sync it", |bencher| {
            bencher.iter(|| log.append(black_box(&context), black_box(&record)).unwrap());
        });
        let mut plain = std::fs::File::create(directory.path().join("plain")).unwrap();
        group.bench_function("write as many bytes and fdatasync", |bencher| {
            bencher.iter(|| {
                plain.write_all(black_box(&line)).unwrap();
                plain.sync_data().unwrap();
            });
        });
        group.finish();
    }
}

fn generated(bytes: usize) -> Vec<u8> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/process/report.mjs");
    let made = Command::new("node").arg(script).arg(bytes.to_string()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    made.stdout
}

fn reports(criterion: &mut Criterion) {
    for (name, bytes) in [("report of 1 MB", 1_000_000), ("report of 50 MB", 50_000_000)] {
        let report = generated(bytes);
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(report.len().try_into().unwrap()));
        group.sampling_mode(SamplingMode::Flat).sample_size(10);
        group.bench_function("read", |bencher| bencher.iter(|| read(black_box(report.as_slice())).unwrap()));
        group.bench_function("as serde_json::Value", |bencher| {
            bencher.iter(|| serde_json::from_slice::<Value>(black_box(&report)).unwrap());
        });
        group.finish();
    }
}

fn text(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("printable of 1 MB");
    group.throughput(Throughput::Bytes(1_000_000));
    let lines = [
        ("plain text", "Expected: \"€ 42.00\", received nothing within 5000 ms\n"),
        ("text with colours", "\u{1b}[31mExpected\u{1b}[39m: 42.00, \u{1b}[2mreceived\u{1b}[22m: nothing\n"),
        ("text of another script", "注文が完了しました。合計は四十二ユーロです。\n"),
    ];
    for (name, line) in lines {
        let text = line.repeat(1_000_000 / line.len());
        group.bench_function(name, |bencher| bencher.iter(|| black_box(printable(&text)).len()));
    }
    group.finish();
}

fn sandbox(criterion: &mut Criterion) {
    let plan = Plan {
        mode: SandboxMode::Require,
        read: vec!["/usr".into()],
        write: vec!["/tmp".into()],
        project: ProjectAccess::ReadWrite,
        outputs: vec![],
        protect: vec![],
        network: Network::None,
        unix_sockets: UnixSockets::Deny,
        limits: ProcessLimits::default(),
    };
    criterion.bench_function("sandbox/compile the filters of a plan", |bencher| {
        bencher.iter(|| seccomp::programs(black_box(&plan)).unwrap());
    });
}

criterion_group! {
    name = inside;
    config = Criterion::default().measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_secs(1));
    targets = policy, audit, reports, text, sandbox
}
criterion_main!(inside);

// Playwright's side of a run: one JSON line for each thing that happens, appended to `events.jsonl` in the run's directory.
//
// In: what Playwright tells a reporter (https://playwright.dev/docs/api/class-reporter), from 1.40 on. Out: the lines that
// `src/report/events.rs` reads, each by one write, so that a killed run has told all that had happened. It never throws,
// prints nothing and changes no exit status: where something is wrong with the file, it is silent from then on.
'use strict';

const fs = require('fs');
const path = require('path');
const { stripVTControlCharacters } = require('util');

/** The longest line, in bytes. */
const LINE = 64 << 10;
/** The longest text, in characters; halved until the line fits. */
const TEXT = 32 << 10;
/** After so many bytes in all, texts are short from the start: the server reads the file up to a bound. */
const GENEROUS = 64 << 20;
/** The longest name, in characters. */
const NAME = 2 << 10;
/** The longest path, in characters. */
const PATH = 4 << 10;
/** The end of an output that is kept, in characters. */
const OUTPUT = 8 << 10;
/** The most chunks of an output that are looked at. */
const CHUNKS = 10_000;
/** The most errors, attachments, tags of one line. */
const ITEMS = 100;

// Whether this is the run itself: a Playwright that a config or a test starts is not to tell of itself here.
const isRun = process.argv.includes(`--output=${path.join(__dirname, '../out')}`);

// Nor is it to write its report into the run's; Playwright has read where that goes by now.
for (const name of ['PW_TEST_REPORTER', 'PLAYWRIGHT_JSON_OUTPUT_NAME', 'PLAYWRIGHT_JSON_OUTPUT_FILE']) delete process.env[name];

/** Both ends of a text, with a note of what is missing between. */
function cut(text, most) {
  if (text === undefined || text === null) return undefined;
  text = String(text);
  if (text.length <= most) return text;
  // A cut through the code of a colour would leave half of it; colours take no more than two thirds of a text.
  if (text.length <= 3 * most) text = stripVTControlCharacters(text);
  if (text.length <= most) return text;
  const tail = Math.floor(most / 3);
  const start = stripVTControlCharacters(text.slice(0, 3 * most)).slice(0, most - tail);
  const end = stripVTControlCharacters(text.slice(text.length - 3 * tail));
  return `${start} … [${text.length - most} characters left out] … ${end.slice(end.length - tail)}`;
}

/** The end of an output, of which Playwright keeps all chunks. */
function output(chunks, most) {
  const kept = [];
  let length = 0;
  // Playwright keeps empty chunks too.
  for (let at = chunks.length - 1, end = Math.max(0, at - CHUNKS); at >= end && length <= most; at--) {
    const chunk = chunks[at];
    const text = typeof chunk === 'string' ? chunk.slice(-most - 1) : chunk.subarray(-most - 1).toString();
    if (text === '') continue;
    kept.push(text);
    length += text.length;
  }
  const text = kept.reverse().join('');
  return text === '' ? [] : [{ text: text.length <= most ? text : `[cut] …${text.slice(-most)}` }];
}

/** A path, which is of no use when it is cut. */
function whole(file) {
  return typeof file === 'string' && file.length <= PATH ? file : undefined;
}

function place(location) {
  return location && { file: whole(location.file), line: location.line, column: location.column };
}

/** The message of an error as its stack has it, which may be with the error's name, and the rest of the stack. */
function parts({ message, stack }) {
  // What is cut anyway is not compared.
  if (!message || !stack || message.length > TEXT) return [message, stack];
  const [name] = /^\w+: /.exec(stack) || [''];
  const start = [message, name + message].find(start => stack.startsWith(start));
  return start ? [start, stack.slice(start.length)] : [message, stack];
}

/** An error in parts. */
function failure(error, most, depth = 0) {
  const { value, snippet, location, cause } = error;
  const [message, frames] = parts(error);
  return {
    message: cut(message, most),
    stack: cut(frames, most >> 1),
    value: cut(value, most),
    snippet: cut(snippet, most >> 1),
    location: place(location),
    cause: cause && depth < 8 ? failure(cause, most >> 1, depth + 1) : undefined,
  };
}

function notes(annotations, most) {
  const kept = (annotations || []).slice(0, most >> 6);
  return kept.map(({ type, description }) => ({ type: cut(type, NAME), description: cut(description, Math.min(most, NAME)) }));
}

function attachment({ name, contentType, path, body }, most) {
  const short = Math.min(most, NAME);
  return { name: cut(name, short), contentType: cut(contentType, short), path: whole(path), bodyBytes: body ? body.length : undefined };
}

/** The step that never ended, inside the steps around it. */
function hung(steps, most, depth = 0) {
  for (const step of depth < 16 ? steps : []) {
    if (step.category !== 'test.step') continue;
    const inner = hung(step.steps, most, depth + 1);
    const title = cut(step.title, Math.min(most, NAME));
    if (inner.length || step.duration === -1) return [{ title, duration: step.duration, steps: inner }];
  }
  return [];
}

/** A test of the plan. */
function planned(test, rootDir, most) {
  const short = Math.min(most, NAME);
  const items = Math.min(ITEMS, most >> 6);
  const suites = [];
  for (let suite = test.parent; suite; suite = suite.parent) suites.unshift(suite);
  const [, project, , ...describes] = suites;
  // Before 1.42 a test had no tags of its own.
  const tags = test.tags || test.title.match(/@\S+/g) || [];
  return {
    id: test.id,
    title: cut(test.title, short),
    describes: describes.slice(0, items).map(describe => cut(describe.title, short)),
    file: cut(path.relative(rootDir, test.location.file).split(path.sep).join('/'), PATH),
    line: test.location.line,
    column: test.location.column,
    project: cut(project.title, short),
    repeat: test.repeatEachIndex,
    tags: tags.slice(0, items).map(tag => cut(tag.slice(1), short)),
    expectedStatus: test.expectedStatus,
    annotations: notes(test.annotations, most),
  };
}

/** How an attempt ended, and what the test has come to by then. */
function ended(test, result, most) {
  const items = Math.min(ITEMS, most >> 6);
  const errors = result.errors.slice(0, items);
  const share = Math.max(64, Math.floor(most / Math.max(1, errors.length)));
  const attempt = {
    status: result.status,
    retry: result.retry,
    duration: result.duration,
    failures: errors.map(error => failure(error, share)),
    stdout: output(result.stdout, Math.min(most, OUTPUT)),
    stderr: output(result.stderr, Math.min(most, OUTPUT)),
    attachments: result.attachments.slice(0, items).map(one => attachment(one, most)),
    steps: hung(result.steps, most),
  };
  return {
    event: 'end',
    id: test.id,
    status: test.outcome(),
    expectedStatus: test.expectedStatus,
    annotations: notes(test.annotations, most),
    result: attempt,
  };
}

class EventReporter {
  #file;
  #written = 0;

  constructor() {
    if (!isRun) return;
    try {
      // Only the first one writes: never into a file that was there, nor through a link.
      this.#file = fs.openSync(path.join(__dirname, '../events.jsonl'), 'ax', 0o600);
    } catch {}
  }

  /** Otherwise Playwright takes it for one that tells people of the run, and adds none that does. */
  printsToStdio() {
    return false;
  }

  onBegin(config, suite) {
    this.#tell(() => {
      const { configFile, rootDir, version, shard } = config;
      const named = ({ name, testDir, outputDir }) => ({ name: cut(name, NAME), testDir, outputDir });
      this.#write(most => {
        const projects = config.projects.slice(0, most >> 6).map(named);
        return { event: 'plan', config: { configFile, rootDir, version, shard, projects } };
      });
      let line = '';
      const flush = () => this.#append(`{"event":"tests","tests":[${line}]}\n`);
      for (const test of suite.allTests()) {
        const one = this.#fit(most => planned(test, rootDir, most), LINE >> 1);
        if (line && line.length + one.length > LINE >> 2) {
          flush();
          line = '';
        }
        line += line ? `,${one}` : one;
      }
      if (line) flush();
    });
  }

  onTestBegin(test, result) {
    this.#tell(() => this.#write(() => ({ event: 'begin', id: test.id, retry: result.retry })));
  }

  onTestEnd(test, result) {
    this.#tell(() => this.#write(most => ended(test, result, most)));
  }

  onError(error) {
    this.#tell(() => this.#write(most => ({ event: 'error', errors: [failure(error, most)] })));
  }

  onEnd(result) {
    const { status, startTime, duration } = result;
    this.#tell(() => this.#write(() => ({ event: 'done', status, stats: { startTime, duration } })));
  }

  #tell(act) {
    if (this.#file === undefined) return;
    try {
      act();
    } catch {
      // A line may be torn or missing: nothing that comes after it would be understood rightly.
      this.#file = undefined;
    }
  }

  /** The JSON of a value that is made with shorter and shorter texts, until it fits. */
  #fit(make, bytes) {
    for (let most = this.#written < GENEROUS ? TEXT : NAME; most >= 64; most >>= 1) {
      const json = JSON.stringify(make(most));
      if (Buffer.byteLength(json) < bytes) return json;
    }
    throw new Error('too long');
  }

  #write(make) {
    this.#append(`${this.#fit(make, LINE)}\n`);
  }

  #append(line) {
    const bytes = Buffer.from(line);
    if (fs.writeSync(this.#file, bytes) !== bytes.length) throw new Error('torn');
    this.#written += bytes.length;
  }
}

module.exports = EventReporter;

// How the demo looks: little colour, none without a terminal or with NO_COLOR; the time that passes while one waits.

const terminal = process.stdout.isTTY ?? false;
const coloured = terminal && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
const width = Math.min(process.stdout.columns || 100, 110);
const margin = '   ';

const style = code => text => (coloured && text ? `\x1b[${code}m${text}\x1b[0m` : text);
const [bold, dim, red, green] = ['1', '2', '31', '32'].map(style);

let steps = 0;

/** Begins the next step. */
export function step(title) {
  console.log(`\n\n${bold(`${++steps}  ${title}`)}\n`);
}

/** Says something, folded to the terminal; a label stands before its first line. */
export function say(text, label = '') {
  const hang = ' '.repeat(label.length);
  const lines = text.split('\n').flatMap(line => fold(line, width - margin.length - label.length));
  lines.forEach((line, index) => console.log(line && margin + (index === 0 ? dim(label) : hang) + line));
}

function fold(text, columns) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`.trimStart();
    if (longer.length > columns && lines.at(-1)) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

/** Shows a call as the agent writes it. */
export function showCall(tool, input) {
  console.log(bold(`${margin}> ${tool} ${JSON.stringify(input)}`));
}

/** Shows the text of an answer: all of it, with its line breaks broken. */
export function showAnswer(text) {
  const bytes = Buffer.byteLength(text);
  for (const line of layOut(JSON.parse(text), '').split('\n')) console.log(margin + line);
  console.log(dim(`${margin}${bytes} bytes, about ${tokens(text)} tokens\n`));
}

/** About as many tokens a text has. */
export function tokens(text) {
  return Math.round(Buffer.byteLength(text) / 4);
}

function layOut(value, indent) {
  if (typeof value === 'string') {
    return `"${value.split('\n').map(part => JSON.stringify(part).slice(1, -1)).join(`\n${indent} `)}"`;
  }
  const line = JSON.stringify(value);
  if (typeof value !== 'object' || value === null || line.length < 70) return line;
  const inner = `${indent}  `;
  const [items, [open, close]] = Array.isArray(value)
    ? [value.map(item => layOut(item, inner)), '[]']
    : [Object.entries(value).map(([key, item]) => `${dim(`"${key}":`)} ${layOut(item, inner)}`), '{}'];
  return `${open}\n${items.map(item => inner + item).join(',\n')}\n${indent}${close}`;
}

/** Shows whether what was seen is what was promised. */
export function showCheck(holds, promise) {
  console.log(`${margin}${holds ? green('✓') : red('✗')} ${promise}`);
}

/** Waits for a promise and shows the time that passes: a line that moves, or plain lines where there is no terminal. */
export async function waitFor(what, promise) {
  const begun = Date.now();
  const passed = () => `${margin}${what} ... ${Math.round((Date.now() - begun) / 1000)} s`;
  const tell = () => (terminal ? process.stdout.write(`\r${dim(passed())}`) : console.log(passed()));
  tell();
  const timer = setInterval(tell, terminal ? 500 : 10_000);
  try {
    return await promise;
  } finally {
    clearInterval(timer);
    console.log(terminal ? `\r${dim(passed())}\n` : `${passed()}\n`);
  }
}

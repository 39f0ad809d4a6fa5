// Figures: times by name, each round of all in turn, told as medians and as ratios to the first.

/** Does each of these once a round, so that a busy machine is busy for all; gives the milliseconds by name. */
export async function interleave(rounds, works) {
  const times = Object.fromEntries(Object.keys(works).map(name => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, work] of Object.entries(works)) times[name].push(await work());
  }
  return times;
}

export async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export const megabytes = bytes => `${(bytes / 1e6).toFixed(1)} MB`;

/** Prints medians with least and most, and ratios to the first row. */
export function print(title, times, notes = {}) {
  const [reference] = Object.values(times).map(median);
  console.log(`\n| ${title} | median ms | least | most | ratio | |\n|---|---|---|---|---|---|`);
  for (const [name, numbers] of Object.entries(times)) {
    const cells = [median(numbers), Math.min(...numbers), Math.max(...numbers)].map(number => number.toFixed(1));
    console.log(`| ${name} | ${cells.join(' | ')} | ${(median(numbers) / reference).toFixed(2)} | ${notes[name] ?? ''} |`);
  }
}

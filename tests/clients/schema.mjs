// Validates values against a JSON Schema of draft 7.
//
// Usage: node schema.mjs SCHEMA < VALUES     VALUES: an object of named values. Prints an object: the faults of each.

import { readFileSync } from 'node:fs';
import Ajv from 'ajv';

// Strict, so that a keyword that means nothing is an error of the schema.
const ajv = new Ajv({ allErrors: true, strict: true });
const validate = ajv.compile(JSON.parse(readFileSync(process.argv[2], 'utf8')));
const values = JSON.parse(readFileSync(0, 'utf8'));
const faults = Object.entries(values).map(([name, value]) => {
  validate(value);
  return [name, (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`)];
});
console.log(JSON.stringify(Object.fromEntries(faults)));

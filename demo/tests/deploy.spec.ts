import { readFileSync } from 'node:fs';
import { expect, test } from '@playwright/test';

// A test is a program: without a sandbox it reads whatever the user who starts it can read.
test('reads a token that is none of its business', () => {
  const token = readFileSync(process.env.DEMO_OUTSIDE_FILE!, 'utf8');
  expect(token).toContain('deploy-token');
});

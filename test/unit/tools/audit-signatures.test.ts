import { expect, it } from 'vitest';
import { verdictOf } from '../../../tools/release/audit-signatures.ts';

const entry = { name: 'left-pad', version: '1.3.0', registry: 'https://registry.npmjs.org/' };

it('the check of signatures passes when none is wrong or missing', () => {
  expect(verdictOf('{"invalid":[],"missing":[]}')).toMatchObject({ kind: 'verified' });
});

it.each([
  [{ invalid: [{ ...entry, code: 'EINTEGRITYSIGNATURE' }], missing: [] }, 'left-pad@1.3.0: its signature'],
  [{ invalid: [], missing: [entry] }, 'left-pad@1.3.0: it has no signature'],
])('the check of signatures fails, naming the package, for %j', (given, says) => {
  expect(verdictOf(JSON.stringify(given))).toMatchObject({
    kind: 'refused',
    says: expect.stringContaining(says),
  });
});

it.each([
  ['', 'npm gave no answer'],
  ['<html>', 'npm gave no answer'],
  ['{}', 'npm gave no answer'],
  [
    JSON.stringify({ error: { code: 'ENOTFOUND', summary: 'getaddrinfo ENOTFOUND' } }),
    'ENOTFOUND: getaddrinfo',
  ],
  [JSON.stringify({ error: { code: 'E403', summary: 'no' } }), 'E403: no'],
  [JSON.stringify({ error: { code: 'EMISSINGSIGNATUREKEY', summary: 'no key' } }), 'EMISSINGSIGNATUREKEY'],
  [
    JSON.stringify({ error: { code: null, summary: 'found no dependencies to audit' } }),
    'found no dependencies',
  ],
])('the check of signatures is left out, with the reason: %s', (stdout, says) => {
  expect(verdictOf(stdout)).toMatchObject({ kind: 'left out', says: expect.stringContaining(says) });
});

import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { redact, redactedError, redactedText } from '../../../../shared/domain/redaction.ts';
import { Secret } from '../../../../shared/domain/secret.ts';

const printed = (value: unknown) => JSON.stringify(value, redact);

it.each([
  { nested: [{ Authorization: 'hidden-one' }] },
  { 'set-cookie': ['hidden-one'] },
  { code: 'hidden-one', csrfToken: 'hidden-one', client_secret: 'hidden-one', 'x-api-key': 'hidden-one' },
  { secret: new Secret('hidden-one') },
  { message: 'sent with Bearer hidden-one, and refused' },
  { url: 'http://127.0.0.1/callback?code=hidden-one&state=x' },
  { body: '{"refresh_token":"hidden-one"}' },
  { body: 'grant_type=refresh_token&refresh_token=hidden-one' },
  { text: 'id_token=hidden-one' },
  { text: 'PASSWORD=hidden-one' },
  { text: '{"body":"{\\"password\\":\\"hidden-one\\"}"}' },
  { text: 'refresh%5ftoken%253Dhidden-one' },
  { text: '&quot;access_token&quot;:&#x22;hidden-one&quot;' },
  { text: 'pass\u200bword=hidden-one' },
])('the secret of %j is left out', (value) => {
  expect(printed(value)).not.toContain('hidden-one');
  expect(printed(value)).toContain('[redacted]');
});

it('redaction keeps what an operator looks for', () => {
  const fields = {
    partnerAccount: 'main',
    tokenVersion: 'version-1',
    code: 'grant-rejected',
    cause: { code: 'ECONNRESET' },
    status: 401,
    reason: 'the token endpoint answered invalid_grant, code 400',
  };
  expect(JSON.parse(printed(fields) ?? '')).toEqual(fields);
});

it('an error that leaves a function has name, message and stack only', () => {
  const cause = new Error('Bearer hidden-one');
  const headers = { authorization: 'hidden-one' };
  const error = Object.assign(new TypeError('id_token=hidden-one', { cause }), { headers });

  const clean = redactedError(error);

  expect(inspect(clean, { depth: 20, showHidden: true })).not.toContain('hidden-one');
  expect(clean).toMatchObject({ name: 'TypeError', message: 'id_token=[redacted]' });
  expect(clean.stack).toContain('redaction.test.ts');
  expect(redactedError('token=hidden-one').message).toBe('token=[redacted]');
});

it.each([
  'token',
  'token:',
  'password ',
  "secret'\\",
  'secret"\\\\',
  'code:,',
  '\\',
  '&',
  '%',
  'a_token',
  'bearer\t',
])('redaction of a hostile text ends: %j, a million characters of it', (piece) => {
  expect(redactedText(piece.repeat(1_000_000 / piece.length)).length).toBeGreaterThan(0);
});

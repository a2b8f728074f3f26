import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { redact, redactedError, redactedText } from '../../../shared/domain/redaction.ts';
import { Secret } from '../../../shared/domain/secret.ts';

const printed = (value: unknown) => JSON.stringify(value, redact);

describe('redaction', () => {
  it.each([
    { accessToken: 'hidden-one' },
    { refresh_token: 'hidden-one' },
    { nested: [{ Authorization: 'hidden-one' }] },
    { client_secret: 'hidden-one' },
    { 'set-cookie': ['hidden-one'] },
    { code: 'hidden-one' },
    { secret: new Secret('hidden-one') },
    { message: 'sent with Bearer hidden-one, and refused' },
    { url: 'http://127.0.0.1/callback?code=hidden-one&state=x' },
    { body: '{"refresh_token":"hidden-one"}' },
    { body: 'grant_type=refresh_token&refresh_token=hidden-one' },
    { text: 'token=hidden-one' },
    { text: 'id_token=hidden-one' },
    { text: 'PASSWORD=hidden-one' },
    { text: '{"body":"{\\"password\\":\\"hidden-one\\"}"}' },
    { text: 'refresh%5ftoken%253Dhidden-one' },
    { text: '&quot;access_token&quot;:&#x22;hidden-one&quot;' },
    { text: 'pass\u200bword=hidden-one' },
    { 'x-api-key': 'hidden-one' },
    { csrfToken: 'hidden-one' },
  ])('leaves out the secret of %j', (value) => {
    expect(printed(value)).not.toContain('hidden-one');
    expect(printed(value)).toContain('[redacted]');
  });

  it('keeps what an operator looks for', () => {
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
});

describe('an error that leaves the function', () => {
  const shown = (error: Error) => JSON.stringify({ ...error }) + inspect(error, { depth: 20 });

  it('has no secret in message, stack, causes, errors and fields, and keeps the rest', () => {
    const first = Object.assign(new TypeError('token=hidden-one'), { code: 'ECONNRESET' });
    const second = new AggregateError([first, 'password=hidden-one'], 'Bearer hidden-one', { cause: first });
    const error = Object.assign(new Error('id_token=hidden-one', { cause: second }), {
      code: 'transient',
      status: 502,
      request: { headers: { authorization: 'hidden-one' }, path: '/api' },
    });

    const clean = redactedError(error);

    expect(shown(clean)).not.toContain('hidden-one');
    expect(clean).toMatchObject({
      message: 'id_token=[redacted]',
      code: 'transient',
      status: 502,
      request: { path: '/api' },
      cause: { name: 'AggregateError', cause: { name: 'TypeError', code: 'ECONNRESET' } },
    });
    expect(clean.stack).toContain('redaction.test.ts');
  });

  it('may be its own cause, hold what JSON cannot, or be none at all', () => {
    const error = Object.assign(new Error('no'), { socket: {} as Record<string, unknown> });
    error.cause = error;
    error.socket.self = error.socket;

    expect(redactedError(error)).toMatchObject({ message: 'no', socket: '[redacted]' });
    expect(redactedError('token=hidden-one').message).toBe('token=[redacted]');
  });
});

describe('redaction of a hostile text', () => {
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
  ])('ends: %j, a million characters of it', (piece) => {
    expect(redactedText(piece.repeat(1_000_000 / piece.length)).length).toBeGreaterThan(0);
  });
});

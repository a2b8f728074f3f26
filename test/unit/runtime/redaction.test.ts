import { describe, expect, it } from 'vitest';
import { Secret } from '../../../shared/domain/secret.ts';
import { redact } from '../../../shared/runtime/redaction.ts';

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

import { describe, expect, it } from 'vitest';
import { errorAnswer } from '../../../sandbox/state/answer.ts';
import { noonMs, start } from './start.ts';

const paths = [
  '/api/partner/status/adverts?since=2026-01-01T00:00:00Z',
  '/api/partner/adverts/1001',
  '/api/partner/adverts',
  '/api/partner/threads',
];

describe.each(paths)('GET %s', (path) => {
  it('needs an access token that the service issued', async () => {
    const { get } = await start();

    const missing = await get(path, { version: '2.0' });
    const unknown = await get(path, { version: '2.0', authorization: 'Bearer unknown' });
    const otherScheme = await get(path, { version: '2.0', authorization: 'Basic dTpw' });

    for (const { status, body } of [missing, unknown, otherScheme]) {
      expect(status).toBe(401);
      expect(body).toEqual({ error: 'invalid_token', error_description: expect.any(String) });
    }
  });

  it('needs the header Version, with a version that is served', async () => {
    const { get, bearer } = await start();
    const { authorization = '' } = await bearer();

    const missing = await get(path, { authorization });
    const unknown = await get(path, { authorization, version: '3.0' });

    for (const { status, body } of [missing, unknown]) {
      expect(status).toBe(400);
      expect(body).toEqual({ code: 'validation_error', message: expect.stringContaining('Version') });
    }
  });

  it('needs the scope to read', async () => {
    const { sandbox, get, refresh } = await start();
    const { access_token } = (await refresh(sandbox.control.issueRefreshToken('main', 'v2 write'))).body;

    const { status, body } = await get(path, { version: '2.0', authorization: `Bearer ${access_token}` });

    expect(status).toBe(403);
    expect(body.error).toBe('insufficient_scope');
  });

  it("carries a Date of the service's clock and application/json", async () => {
    const { sandbox, get } = await start();
    sandbox.control.clock.set(noonMs + 5000);

    const { headers } = await get(path);

    expect(headers.get('date')).toBe('Fri, 20 Nov 2026 12:00:05 GMT');
    expect(headers.get('content-type')).toBe('application/json');
  });
});

describe('an unknown path', () => {
  it("is not answered in the service's own shape", async () => {
    const { get } = await start();

    const { status, headers } = await get('/wrong/api/partner/adverts/1001');

    expect(status).toBe(404);
    expect(headers.get('content-type')).toContain('text/html');
  });

  it('is told apart from a wrong method', async () => {
    const { post } = await start();

    const { status, headers } = await post('/api/partner/threads', {});

    expect(status).toBe(405);
    expect(headers.get('allow')).toBe('GET');
  });
});

describe('an error body', () => {
  const error = {
    group: 'validation',
    status: 400,
    code: 'validation_error',
    message: 'The parameter since is bad.',
    field: 'since',
  } as const;
  const { code, message } = error;
  const nested = {
    status: 400,
    title: code,
    detail: message,
    validation: [{ field: 'since', title: code, detail: message }],
  };

  it.each([
    ['flat-code', { code, message }],
    ['flat-error', { error: code, message }],
    ['oauth', { error: code, error_description: message }],
    ['nested', { error: nested }],
    ['nested-in-data', { data: { error: nested } }],
    ['typed', { error: { type: code, message } }],
  ] as const)('comes in the shape %s', (shape, expected) => {
    expect(JSON.parse(errorAnswer(shape, error).body)).toEqual(expected);
  });

  it('can be empty', async () => {
    const { get } = await start({ assumptions: { errorShapes: { authorization: 'none' } } });

    const { status, text } = await get('/api/partner/threads', {});

    expect(status).toBe(401);
    expect(text).toBe('');
  });
});

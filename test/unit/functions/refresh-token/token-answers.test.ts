import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { metrics } from '../../../../shared/contract/names.ts';
import { redactedText } from '../../../../shared/domain/redaction.ts';
import { Secret, textOfPair } from '../../../../shared/domain/secret.ts';
import { holdOf } from '../../../helpers/holds.ts';
import {
  cutOff,
  hang,
  reset,
  type Scripted,
  type ScriptedService,
  startScriptedService,
} from '../../../helpers/partner-api/scripted-service.ts';
import { createTokenStage } from '../../../helpers/token-world.ts';

const right = {
  access_token: 'access-2',
  refresh_token: 'refresh-2',
  expires_in: 86_400,
  token_type: 'bearer',
  scope: 'v2 read write',
};
/** As the token stage has it. */
const clientSecret = 'sandbox-client-secret';
const hourMs = 3_600_000;

/** Answers of the token endpoint over HTTP, and what becomes of each (docs/decisions/0003-tokens.md). */
let service: ScriptedService;
let world: Awaited<ReturnType<typeof createTokenStage>>;

beforeEach(async () => {
  service = await startScriptedService();
  onTestFinished(() => service.close());
  world = await createTokenStage(service.url);
  service.next({ body: { ...right, access_token: 'access-1', refresh_token: 'refresh-1' } });
  await world.connect('refresh-0');
});
const answered = async (answer: Scripted, ms?: number) => {
  service.next(answer);
  const outcome = await world.refresh('token-rejected', ms);
  const pair = await world.stored();
  return {
    outcome,
    access: pair?.accessToken.reveal(),
    refresh: pair?.refreshToken.reveal(),
    scope: pair?.scope,
    lifetimeMs: (pair?.expiresAt ?? 0) - world.clock.now(),
  };
};
const old = { access: 'access-1', refresh: 'refresh-1' };
const fresh = { access: 'access-2', refresh: 'refresh-2', outcome: { kind: 'renewed' } };

it.each<[string, object, number]>([
  ['a number', { expires_in: 7200 }, 2 * hourMs],
  ['a numeric string', { expires_in: '7200' }, 2 * hourMs],
  ['negative, which is taken for an hour', { expires_in: -5 }, hourMs],
  ['missing, which is taken for an hour', { expires_in: undefined }, hourMs],
  ['something else, which is taken for an hour', { expires_in: { in: 'a day' } }, hourMs],
])('a token response with expires_in %s', async (_title, change, lifetimeMs) => {
  expect(await answered({ body: { ...right, ...change } })).toMatchObject({ ...fresh, lifetimeMs });
});

it.each([
  ['a new one', (times: number) => `access-2-${times}`, 4],
  ['the same one', () => 'access-2', 1],
])('an account waits ever longer for tokens without time left: %s', async (_which, tokenOf, pairs) => {
  const reason = 'token-answer-broken';
  const stored = vi.spyOn(world.deps.vault, 'write');

  for (const pauses of [1, 2]) {
    for (const again of [0, 0.5])
      service.next({ body: { ...right, expires_in: 0, access_token: tokenOf(pauses + again) } });
    expect(await world.refresh('expired')).toEqual({ kind: 'held' });
    expect(holdOf(await world.account(), 'token')).toMatchObject({ reason, forMs: 5_000 * pauses });
    expect(await world.refresh('expired')).toEqual({ kind: 'held' });
    world.clock.advance(hourMs);
  }

  expect(stored).toHaveBeenCalledTimes(pairs);
  expect(world.observer.counted(metrics.needsAttention)).toBe(2);
  service.next({ body: { ...right, access_token: 'access-4' } });
  expect(await world.refresh('expired')).toEqual({ kind: 'renewed' });
  expect(holdOf(await world.account(), 'token')).toBeUndefined();
});

it.each(['write read v2', 'write+v2+read', ' v2  read write ', 'v2,read,write', 'v2, read, write'])(
  'a token response may name its scopes as %j',
  async (scope) => {
    expect(await answered({ body: { ...right, scope } })).toMatchObject(fresh);
  },
);

it('a token response without a scope keeps the scope of the one before', async () => {
  const body = { ...right, scope: undefined };
  expect(await answered({ body })).toMatchObject({ ...fresh, scope: right.scope });
});

const unshown = 'v2 read write shown-nowhere';
it.each<[string, unknown]>([
  ['that is a number', 17],
  ['with an escape sequence', `${unshown} \u001b[2J`],
  ['with characters that turn the direction of writing', `${unshown}\u202e`],
  ['of 1,025 characters', `${unshown} `.padEnd(1025, 's')],
  ['with the client secret', `${unshown} ${clientSecret}`],
  ['with the refresh token that was sent', `${unshown} refresh-1`],
  ['with the access token beside it', `${unshown} access-2`],
  ['with the refresh token beside it', `${unshown} refresh-2`],
])('a token response with a scope %s is stored and stops the account', async (_title, scope) => {
  expect(await answered({ body: { ...right, scope } })).toMatchObject({
    ...{ ...fresh, scope: right.scope },
    outcome: { kind: 'held' },
  });
  expect(holdOf(await world.account(), 'authorization')).toMatchObject({ reason: 'scope-insufficient' });

  const warned = world.observer.lines.filter(({ level }) => level === 'warn');
  expect(warned).toMatchObject([{ fields: { partnerAccount: 'main', fields: ['scope'] } }]);
  expect(JSON.stringify(world.observer.lines)).not.toContain('shown-nowhere');
});

it('the longest value in each field fits into a secret of 64 KB', async () => {
  const access_token = '"'.repeat(8_191);
  const refresh_token = `${'\u0001'.repeat(2_730)}r`;
  const scope = 'v2 read write '.padEnd(1024, 's');
  expect(await answered({ body: { ...right, access_token, refresh_token, scope } })).toMatchObject({
    access: access_token,
    refresh: refresh_token,
    scope,
  });

  const pair = await world.stored();
  expect(Buffer.byteLength(pair ? textOfPair(pair) : '')).toBeLessThan(65_536);
});

it('a new account’s answer without a scope grants what is needed', async () => {
  service.next({ body: { ...right, scope: undefined } });
  const request = { partnerAccount: 'second', refreshToken: new Secret('refresh-0') };

  expect(await world.stage.connect(request, world.options())).toMatchObject({ isNew: true, scope: '' });
});

it.each<[string, string | undefined, string]>([
  ['missing', undefined, 'refresh-1'],
  ['empty', '', 'refresh-1'],
  ['of a space', ' ', 'refresh-1'],
  ['that is not well-formed', '\ud800', 'refresh-1'],
  ['too long', 'r'.repeat(8193), 'refresh-1'],
  ['too long for the secret', '\u0001'.repeat(8_000), 'refresh-1'],
  ['of 8,192 characters', 'r'.repeat(8192), 'r'.repeat(8192)],
  ['with odd characters', ` "b" 'c' \\ \u00fc\u{1f600}\n `, ` "b" 'c' \\ \u00fc\u{1f600}\n `],
])(
  'the newest usable refresh token is kept after a refresh token %s',
  async (_title, refresh_token, kept) => {
    const renewed = { access: 'access-2', refresh: kept, outcome: { kind: 'renewed' } };
    expect(await answered({ body: { ...right, refresh_token } })).toMatchObject(renewed);
    const isLost = (refresh_token ?? '') !== '' && kept === 'refresh-1';
    expect(world.observer.counted(metrics.needsAttention)).toBe(isLost ? 1 : 0);

    world.clock.advance(5_000);
    await answered({ body: right });
    expect(JSON.parse(service.seen.at(-1)?.body ?? '{}')).toMatchObject({ refresh_token: kept });
  },
);

it('another token_type is used as bearer, with a warning without it', async () => {
  expect(await answered({ body: { ...right, token_type: 'mac-8151' } })).toMatchObject(fresh);
  expect(world.observer.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
  expect(JSON.stringify(world.observer.lines)).not.toContain('mac-8151');
});

it.each<[string, Scripted, string]>([
  ['is HTML', { body: '<html>Maintenance</html>' }, 'transient'],
  ['is HTML with an error status', { status: 400, body: '<html>Blocked</html>' }, 'transient'],
  ['is cut-off JSON', { body: JSON.stringify(right).slice(0, -20) }, 'transient'],
  ['is a 500', { status: 500, body: { error: 'server_error' } }, 'transient'],
  ['is a 503 that looks like a refusal', { status: 503, body: { error: 'invalid_grant' } }, 'transient'],
  ['ends half-way', cutOff, 'transient'],
  ['is no answer', reset, 'transient'],
  ['is JSON of another shape', { body: { data: right.scope } }, 'contract-broken'],
  ['has neither token', { body: { ...right, access_token: '', refresh_token: ' ' } }, 'contract-broken'],
  ['comes after the deadline', hang, 'transient'],
])('a token response that %s changes nothing and stops nobody', async (_title, answer, fault) => {
  expect(await answered(answer, answer === hang ? 50 : undefined)).toMatchObject({
    ...old,
    outcome: { kind: 'failed', fault },
  });
  expect(holdOf(await world.account(), 'authorization')).toBeUndefined();
  expect((await world.account())?.refreshing).toBeUndefined();
});

it.each<[string, Scripted]>([
  ['200', { body: { error: 'invalid_grant', error_description: 'revoked' } }],
  ['200 inside data', { body: { data: { error: { type: 'invalid_grant' } } } }],
  ['400', { status: 400, body: { error: 'invalid_grant' } }],
])('invalid_grant with %s stops the account', async (_status, answer) => {
  expect((await answered(answer)).outcome).toEqual({ kind: 'held' });
  expect(holdOf(await world.account(), 'authorization')).toMatchObject({
    reason: 'refresh-token-rejected',
  });
});

it.each<[string, Scripted]>([
  ['bad_refresh_token', { body: { error: 'bad_refresh_token', message: 'The one-time token' } }],
  ['invalid_token', { status: 400, body: { error: 'invalid_token', message: 'The one-time token' } }],
])('an error %s stops nobody, is named, and is asked for ever less often', async (code, answer) => {
  const outcomes = [];
  for (let minute = 0; minute < 60; minute += 1) {
    service.next(answer);
    outcomes.push(await world.refresh('token-rejected'));
    world.clock.advance(60_000);
  }

  expect(outcomes[0]).toMatchObject({
    kind: 'failed',
    reason: expect.stringContaining(`${code} (The one-time`),
  });
  expect(outcomes.filter(({ kind }) => kind === 'failed').length).toBeLessThan(13);
  expect(holdOf(await world.account(), 'authorization')).toBeUndefined();
  expect(redactedText((await world.account())?.renewal?.reason ?? '')).toContain(
    `${code} (The one-time token)`,
  );
});

it('a pair with a faulty access token is stored, and the account waits', async () => {
  const { outcome, ...stored } = await answered({ body: { ...right, access_token: 'two words' } });

  expect(stored).toMatchObject({ access: 'access-1', refresh: 'refresh-2' });
  expect(outcome).toEqual({ kind: 'held' });
  expect(holdOf(await world.account(), 'token')).toMatchObject({ reason: 'token-answer-broken' });
  expect(world.observer.counted(metrics.needsAttention)).toBe(1);
  // The newest one is what is sent next.
  world.clock.advance(hourMs);
  expect(await answered({ body: { ...right, refresh_token: 'refresh-3' } })).toMatchObject({
    refresh: 'refresh-3',
  });
  expect(JSON.parse(service.seen.at(-1)?.body ?? '{}')).toMatchObject({ refresh_token: 'refresh-2' });
  expect(holdOf(await world.account(), 'token')).toBeUndefined();
});

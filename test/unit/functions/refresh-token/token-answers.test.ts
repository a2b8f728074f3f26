import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { metrics } from '../../../../shared/contract/names.ts';
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
const percentEncoded = (text: string) =>
  [...text].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('');
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Answers of the token endpoint over HTTP, and what becomes of each (docs/decisions/0003-tokens.md). */
describe('an answer of the token endpoint', () => {
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
    ['zero, which has run out at once', { expires_in: 0 }, 0],
    ['negative, which is taken for an hour', { expires_in: -5 }, hourMs],
    ['missing, which is taken for an hour', { expires_in: undefined }, hourMs],
    ['something else, which is taken for an hour', { expires_in: { in: 'a day' } }, hourMs],
  ])('with expires_in %s', async (_title, change, lifetimeMs) => {
    expect(await answered({ body: { ...right, ...change } })).toMatchObject({ ...fresh, lifetimeMs });
  });

  it.each([
    ['a new token', (times: number) => `access-2-${times}`],
    ['the same one', () => 'access-2'],
  ])(
    'with no time left in it twice in a row, and %s, pauses the account: each answer is a version of its secret',
    async (_which, tokenOf) => {
      const reason = 'token-answer-broken';
      const spent = { ...right, expires_in: 0 };
      service.next({ body: spent });
      expect(await world.refresh('expired')).toEqual({ kind: 'renewed' });

      for (const pauses of [1, 2]) {
        service.next({ body: { ...spent, access_token: tokenOf(pauses) } });
        expect(await world.refresh('expired')).toMatchObject({ kind: 'paused', reason });
        expect(holdOf(await world.account(), 'token')).toMatchObject({ reason, forMs: 5_000 * pauses });
        expect(await world.refresh('expired')).toMatchObject({ kind: 'paused', reason });
        world.clock.advance(hourMs);
      }

      expect(world.observer.counted(metrics.needsAttention)).toBe(2);
      service.next({ body: { ...right, access_token: 'access-4' } });
      expect(await world.refresh('expired')).toEqual({ kind: 'renewed' });
      expect(holdOf(await world.account(), 'token')).toBeUndefined();
    },
  );

  it.each(['write read v2', 'write+v2+read', ' v2  read write '])(
    'may name its scopes as %j',
    async (scope) => {
      expect(await answered({ body: { ...right, scope } })).toMatchObject(fresh);
    },
  );

  it('keeps the scope that was told before where it tells none', async () => {
    const body = { ...right, scope: undefined };
    expect(await answered({ body })).toMatchObject({ ...fresh, scope: right.scope });
  });

  const unshown = 'v2 read write shown-nowhere';
  it.each<[string, unknown]>([
    ['that is a number', 17],
    ['that is a list', ['v2', 'read', 'write']],
    ['with an escape sequence', `${unshown} \u001b[2J`],
    ['with C1 characters', `${unshown}\u009b2J`],
    ['with characters that turn the direction of writing', `${unshown}\u202e`],
    ['with a line break', `${unshown}\nscope`],
    ['with quotes', `${unshown} "all"`],
    ['with other letters', `${unshown} wszystko-ż`],
    ['of 900 KB', `${unshown} ${'s'.repeat(900_000)}`],
    ['of 1,025 characters', `${unshown} `.padEnd(1025, 's')],
    ['with the client secret', `${unshown} ${clientSecret}`],
    ['with the client secret in capitals', `${unshown} ${clientSecret.toUpperCase()}`],
    ['with the client secret percent-encoded', `${unshown} ${percentEncoded(clientSecret)}`],
    ['with the client secret in base64', `${unshown} ${Buffer.from(clientSecret).toString('base64')}`],
    ['with the refresh token that was sent', `${unshown} refresh-1`],
    ['with the access token beside it', `${unshown} access-2`],
    ['with the refresh token beside it', `${unshown} refresh-2`],
  ])('is stored, and stops the account, with a scope %s', async (_title, scope) => {
    expect(await answered({ body: { ...right, scope } })).toMatchObject({
      ...{ ...fresh, scope: right.scope },
      outcome: { kind: 'stopped', reason: 'scope-insufficient' },
    });

    const warned = world.observer.lines.filter(({ level }) => level === 'warn');
    expect(warned).toMatchObject([{ fields: { partnerAccount: 'main', fields: ['scope'] } }]);
    expect(JSON.stringify(world.observer.lines)).not.toContain('shown-nowhere');
  });

  it('may have a scope of 1,024 characters', async () => {
    const scope = `${right.scope} `.padEnd(1024, 's');
    expect(await answered({ body: { ...right, scope } })).toMatchObject({ ...fresh, scope });
  });

  it('connects nobody with a scope that cannot be shown, and does not show it', async () => {
    service.next({ body: { ...right, scope: `${unshown}\u001b[2J` } });
    const request = { partnerAccount: 'second', refreshToken: new Secret('refresh-0') };

    const fault = await world.stage.connect(request, world.options()).catch((error: unknown) => error);
    expect(fault).toMatchObject({ code: 'scope-refused' });
    expect(String(fault)).not.toContain('shown-nowhere');
    expect(await world.state.partnerAccounts.read('second')).toBeUndefined();
  });

  it('with a Date of another age has reading begin by the clock of the bridge', async () => {
    service.next({ body: right, headers: { date: 'Fri, 31 Dec 9999 23:59:59 GMT' } });

    await world.stage.connect(
      { partnerAccount: 'second', refreshToken: new Secret('refresh-0') },
      world.options(),
    );

    const feed = (await world.state.feedStates.list()).find((one) => one.partnerAccount === 'second');
    expect(feed?.since).toBe(new Date(world.clock.now() - 300_000).toISOString());
  });

  it('with the longest of everything fits into a secret of 64 KB', async () => {
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

  it('with a refresh token that would not fit keeps the one before, and calls for a person', async () => {
    const refresh_token = '\u0001'.repeat(8_000);
    expect(await answered({ body: { ...right, refresh_token } })).toMatchObject({
      access: 'access-2',
      refresh: 'refresh-1',
      outcome: { kind: 'renewed' },
    });

    expect(world.observer.counted(metrics.needsAttention)).toBe(1);
    expect(world.observer.lines.filter(({ level }) => level === 'error')).toMatchObject([
      { message: expect.stringContaining('cannot be stored'), fields: { fields: ['refresh_token'] } },
    ]);
  });

  it.each<[string, object]>([['missing', { scope: undefined }]])(
    'of a new partner account with its scope %s is taken to grant what is needed',
    async (_title, change) => {
      service.next({ body: { ...right, ...change } });
      const request = { partnerAccount: 'second', refreshToken: new Secret('refresh-0') };

      expect(await world.stage.connect(request, world.options())).toMatchObject({ isNew: true, scope: '' });

      service.next({ body: { ...right, ...change } });
      const version = (await world.state.partnerAccounts.read('second'))?.token?.version ?? '';
      expect(
        await world.stage.refresh(
          { partnerAccount: 'second', rejectedVersion: version, because: 'expired' },
          world.options(),
        ),
      ).toEqual({ kind: 'renewed' });
    },
  );

  it('with a scope too small is stored, and stops the account', async () => {
    expect(await answered({ body: { ...right, scope: 'v2 read' } })).toMatchObject({
      ...fresh,
      outcome: { kind: 'stopped', reason: 'scope-insufficient' },
      scope: 'v2 read',
    });
    expect(holdOf(await world.account(), 'authorization')).toMatchObject({ reason: 'scope-insufficient' });
  });

  it('with a scope too small connects nobody, and costs a known account nothing', async () => {
    service.next({ body: { ...right, scope: 'v2 read' } });

    await expect(world.connect('refresh-9')).rejects.toMatchObject({
      code: 'scope-refused',
      message: expect.stringContaining('write'),
    });

    expect((await world.stored())?.refreshToken.reveal()).toBe('refresh-1');
    expect(holdOf(await world.account(), 'authorization')).toBeUndefined();
  });

  it.each<[string, object]>([
    ['missing', { refresh_token: undefined }],
    ['empty', { refresh_token: '' }],
  ])('with refresh_token %s keeps the old one beside the new access token', async (_title, change) => {
    expect(await answered({ body: { ...right, ...change } })).toMatchObject({
      access: 'access-2',
      refresh: 'refresh-1',
      outcome: { kind: 'renewed' },
    });
    await answered({ body: right });
    expect(JSON.parse(service.seen.at(-1)?.body ?? '{}')).toMatchObject({ refresh_token: 'refresh-1' });
  });

  it.each<[string, string]>([
    ['of 8,192 characters', 'r'.repeat(8192)],
    ['with spaces, quotes and more', ` a "b" 'c' \\ {"d":1} \u00fc\u{1f600}\n `],
  ])('may have a refresh token %s: it is kept, and sent, to the last character', async (_title, text) => {
    expect(await answered({ body: { ...right, refresh_token: text } })).toMatchObject({ refresh: text });
    await answered({ body: right });
    expect(JSON.parse(service.seen.at(-1)?.body ?? '{}')).toMatchObject({ refresh_token: text });
  });

  it('may not have a longer one: the old one stays, for that is no token', async () => {
    expect(await answered({ body: { ...right, refresh_token: 'r'.repeat(8193) } })).toMatchObject({
      refresh: 'refresh-1',
    });
  });

  it('with the token that was rejected is stored, as a new version', async () => {
    expect(await answered({ body: { ...right, access_token: 'access-1' } })).toMatchObject({
      access: 'access-1',
      refresh: 'refresh-2',
      outcome: { kind: 'renewed' },
    });
  });

  it('may write its type in capitals', async () => {
    expect(await answered({ body: { ...right, token_type: 'BEARER' } })).toMatchObject(fresh);
    expect(world.observer.lines.filter(({ level }) => level === 'warn')).toEqual([]);
  });

  it('of another type is used as a bearer token, with a warning that does not repeat it', async () => {
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
  ])('that %s changes nothing and stops nobody', async (_title, answer, fault) => {
    expect(await answered(answer, answer === hang ? 50 : undefined)).toMatchObject({
      ...old,
      outcome: { kind: 'failed', fault },
    });
    expect(holdOf(await world.account(), 'authorization')).toBeUndefined();
    expect((await world.account())?.refreshing).toBeUndefined();
  });

  it('with a fault in its access token loses no refresh token: it is stored, and the account waits', async () => {
    const { outcome, ...stored } = await answered({ body: { ...right, access_token: 'two words' } });

    expect(stored).toMatchObject({ access: 'access-1', refresh: 'refresh-2' });
    expect(outcome).toMatchObject({ kind: 'paused', reason: 'token-answer-broken' });
    expect(world.observer.counted(metrics.needsAttention)).toBe(1);
    // The newest one is what is sent next.
    world.clock.advance(hourMs);
    expect(await answered({ body: { ...right, refresh_token: 'refresh-3' } })).toMatchObject({
      refresh: 'refresh-3',
    });
    expect(JSON.parse(service.seen.at(-1)?.body ?? '{}')).toMatchObject({ refresh_token: 'refresh-2' });
    expect(holdOf(await world.account(), 'token')).toBeUndefined();
  });

  it('without a usable token connects nobody', async () => {
    service.next({ body: { ...right, access_token: 'two words' } });

    await expect(world.connect('refresh-9')).rejects.toMatchObject({ code: 'contract-broken' });

    expect((await world.stored())?.refreshToken.reveal()).toBe('refresh-1');
    expect((await world.account())?.token?.expiresAt).toBe(world.clock.now() + dayMs);
  });
});

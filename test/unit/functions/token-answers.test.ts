import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { metrics } from '../../../shared/contract/names.ts';
import { createTokenStage } from '../../helpers/token-world.ts';
import {
  hang,
  type Scripted,
  type ScriptedService,
  startScriptedService,
} from '../partner-api/scripted-service.ts';

const right = {
  access_token: 'access-2',
  refresh_token: 'refresh-2',
  expires_in: 86_400,
  token_type: 'bearer',
  scope: 'v2 read write',
};
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Answers of the token endpoint over HTTP, and what becomes of each: the table in docs/decisions/tokens.md. */
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

  it.each(['write read v2', 'write+v2+read', ' v2  read write '])(
    'may name its scopes as %j',
    async (scope) => {
      expect(await answered({ body: { ...right, scope } })).toMatchObject(fresh);
    },
  );

  it('keeps the scope that was told before where it tells none', async () => {
    expect(await answered({ body: { ...right, scope: 17 } })).toMatchObject({ ...fresh, scope: right.scope });
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
    ['is HTML', { body: '<html>Maintenance</html>' }, 'passing'],
    ['is HTML with an error status', { status: 400, body: '<html>Blocked</html>' }, 'passing'],
    ['is JSON of another shape', { body: { data: right.scope } }, 'contract-broken'],
    ['has neither token', { body: { ...right, access_token: '', refresh_token: ' ' } }, 'contract-broken'],
    ['comes after the deadline', hang, 'passing'],
  ])('that %s changes nothing and stops nobody', async (_title, answer, fault) => {
    expect(await answered(answer, answer === hang ? 50 : undefined)).toMatchObject({
      ...old,
      outcome: { kind: 'failed', fault },
    });
    expect((await world.account())?.stop).toBeUndefined();
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
    expect((await world.account())?.pause).toBeUndefined();
  });

  it('without a usable token connects nobody', async () => {
    service.next({ body: { ...right, access_token: 'two words' } });

    await expect(world.connect('refresh-9')).rejects.toMatchObject({ code: 'contract-broken' });

    expect((await world.stored())?.refreshToken.reveal()).toBe('refresh-1');
    expect((await world.account())?.token?.expiresAt).toBe(world.clock.now() + dayMs);
  });
});

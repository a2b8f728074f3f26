import { expect, it } from 'vitest';
import {
  missingScopes,
  newestPair,
  pairOf,
  storePair,
  warnOfOddAnswer,
} from '../../../../functions/refresh-token/token-pairs.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { Secret, type StoredPair } from '../../../../shared/domain/secret.ts';
import type { ReceivedTokens } from '../../../../shared/ports/tokens.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';
import { partnerAccount, tokenPair } from '../../../helpers/records.ts';

const [sentAt, receivedAt] = [10_000_000, 10_003_000];
const received = (answer: ReceivedTokens['answer'], more: Partial<ReceivedTokens> = {}): ReceivedTokens => ({
  ...{ answer, sentAt, receivedAt, serviceTime: sentAt, ...more },
});
const tokens = { access_token: 'a1', refresh_token: 'r1' };
const before = { accessToken: new Secret('a0'), refreshToken: new Secret('r0'), scope: 's0', expiresAt: 77 };

it.each<[string, ReceivedTokens['answer'], Partial<StoredPair>, unknown]>([
  [
    'all of the answer',
    { ...tokens, expires_in: 60, scope: 's1' },
    before,
    ['a1', 'r1', 's1', sentAt + 60_000],
  ],
  ['a life of no length', { ...tokens, expires_in: 0 }, before, ['a1', 'r1', 's0', sentAt]],
  ['an hour if no life is named', tokens, before, ['a1', 'r1', 's0', sentAt + 3_600_000]],
  [
    'its scopes, separated by spaces',
    { ...tokens, scope: ' v2+read  write+' },
    before,
    ['a1', 'r1', 'v2 read write', sentAt + 3_600_000],
  ],
  [
    'no scope that was never named',
    tokens,
    { ...before, scope: undefined as never },
    ['a1', 'r1', '', sentAt + 3_600_000],
  ],
  ['the refresh token of before', { access_token: 'a1' }, before, ['a1', 'r0', 's0', sentAt + 3_600_000]],
  [
    'the access token of before, and its life',
    { refresh_token: 'r1', expires_in: 60 },
    before,
    ['a0', 'r1', 's0', 77],
  ],
  [
    'an access token of before without a life',
    { refresh_token: 'r1' },
    { accessToken: before.accessToken },
    ['a0', 'r1', '', sentAt],
  ],
  ['no pair without an access token', { refresh_token: 'r1' }, {}, undefined],
  ['no pair without a refresh token', { access_token: 'a1' }, {}, undefined],
])('a pair has %s', (_what, answer, old, expected) => {
  const pair = pairOf(received(answer), old);

  expect(pair && [pair.accessToken.reveal(), pair.refreshToken.reveal(), pair.scope, pair.expiresAt]).toEqual(
    expected,
  );
  expect(pair?.obtainedAt).toBe(expected && receivedAt);
});

it.each<[string, Partial<ReceivedTokens>, ('error' | 'warn')[]]>([
  ['nothing of a good answer', { answer: { token_type: 'bearer' }, unusable: [] }, []],
  ['nothing when no type is named', { answer: {} }, []],
  ['an unusable refresh token as an error', { unusable: ['refresh_token'] }, ['error']],
  ['another unusable field as a warning', { unusable: ['scope'] }, ['warn']],
  ['both as one error', { unusable: ['scope', 'refresh_token'] }, ['error']],
  ['another type, too', { answer: { token_type: 'mac' }, unusable: ['expires_in'] }, ['warn', 'warn']],
])('the log has %s', (_what, odd, levels) => {
  const observer = createRecordingObserver();

  warnOfOddAnswer(received({}, odd), 'main', observer);

  expect(observer.lines.map(({ level }) => level)).toEqual(levels);
  const { unusable = [] } = odd;
  if (unusable.length > 0)
    expect(observer.lines[0]?.fields).toEqual({ partnerAccount: 'main', fields: unusable });
  expect(observer.counted(metrics.needsAttention)).toBe(levels.includes('error') ? 1 : 0);
});

it.each([
  ['v2 read write', 'v2 read write', []],
  ['write+v2', 'v2 read  write', ['read']],
  ['v2', 'v2 read+write', ['read', 'write']],
  ['v2 readonly', 'v2 read', ['read']],
  // The service never named it.
  ['', 'v2 read', []],
])('of a scope of %j and %j wanted, this is missing: %j', (granted, required, missing) => {
  expect(missingScopes(granted, required)).toEqual(missing);
});

const token = { version: '1', expiresAt: 0, usedAt: 0 };
const pairAfter = (follows: string | undefined, generation = 5) =>
  tokenPair({ generation, ...(follows && { follows }) });

/** A vault with versions that become visible after a while, and in which the last is the latest. */
function vaultOf(versions: Readonly<Record<string, StoredPair>>, visibleMs = 0) {
  const clock = createManualClock();
  const visibleAt = clock.now() + visibleMs;
  const vault = {
    async read(_name: string, version = Object.keys(versions).at(-1)) {
      const pair = clock.now() >= visibleAt ? versions[version ?? ''] : undefined;
      return pair && { version: version ?? '', pair };
    },
    write: async () => '',
  };
  const find = (row = {}, deadlineMs = 60_000) =>
    newestPair({ vault, clock }, partnerAccount({ generation: 5, token, ...row }), {
      deadlineMs: clock.now() + deadlineMs,
    });
  return { clock, find };
}

it.each<[string, StoredPair, object, boolean]>([
  ['follows the named one', pairAfter('1'), {}, true],
  ['follows another one', pairAfter('0'), {}, false],
  ['follows none', pairAfter(undefined), {}, false],
  ['is of the generation before', pairAfter('1', 4), {}, false],
  ['is of a generation to come', pairAfter('1', 6), {}, false],
  [
    'is of the generation that the named one is of',
    pairAfter('1', 3),
    { token: { ...token, issuedFor: 3 } },
    true,
  ],
  ['is of one since then', pairAfter('1', 4), { token: { ...token, issuedFor: 3 } }, true],
  ['is of one before that', pairAfter('1', 2), { token: { ...token, issuedFor: 3 } }, false],
  ['is of one after the row’s', pairAfter('1', 6), { token: { ...token, issuedFor: 3 } }, false],
])('the newest pair is the latest only if that %s', async (_which, latest, row, isTaken) => {
  const named = pairAfter(undefined);
  const { find, clock } = vaultOf({ 1: named, 2: latest });

  expect(await find(row)).toEqual(
    isTaken ? { version: '2', pair: latest, isLatest: true } : { version: '1', pair: named, isLatest: false },
  );
  expect(clock.slept).toEqual([]);
});

it('the newest pair is the one that the account’s row names, if any', async () => {
  const named = pairAfter(undefined);

  expect(await vaultOf({ 1: named }).find()).toEqual({ version: '1', pair: named, isLatest: true });
  expect(await vaultOf({}).find({ token: undefined })).toBeUndefined();
  // It follows nothing that the row names.
  const { find, clock } = vaultOf({ 2: named });
  expect(await find({ token: undefined })).toBeUndefined();
  expect(clock.slept).toHaveLength(24);
});

it.each([
  ['when it becomes visible', 2_000, 60_000, 4, 'found'],
  ['at the last look, after 12 s', 12_000, 60_000, 24, 'found'],
  ['and does not exist after 12 s', 12_001, 60_000, 24, 'none'],
  ['until half a second before the deadline', 2_000, 1_001, 2, 'transient'],
  ['not at all if the deadline is near', 2_000, 500, 0, 'transient'],
])('the newest pair is looked for every 500 ms, %s', async (_when, visibleMs, deadlineMs, looks, outcome) => {
  const { find, clock } = vaultOf({ 1: pairAfter(undefined) }, visibleMs);

  const found = await find({}, deadlineMs).then(
    (pair) => (pair ? 'found' : 'none'),
    (fault) => fault.code,
  );

  expect(found).toBe(outcome);
  expect(clock.slept).toEqual(Array(looks).fill(500));
});

it.each([
  ['at once', 0, 0, 60_000, [], '7'],
  ['after half a second, doubled', 3, 0, 60_000, [500, 1_000, 2_000], '7'],
  ['every 4 s at last', 99, 0, 15_499, [500, 1_000, 2_000, 4_000, 4_000], undefined],
  ['until the deadline', 99, 0, 1_500, [500, 1_000], undefined],
  ['not beyond the deadline', 99, 0, 1_499, [500], undefined],
  ['if there is time for as long a try', 99, 700, 1_900, [500], undefined],
  ['not if there is less', 99, 700, 1_899, [], undefined],
])('a pair is stored %s', async (_when, failures, tookMs, deadlineMs, slept, version) => {
  const clock = createManualClock();
  const error = new Error('throttled');
  const written: unknown[] = [];
  const vault = {
    async write(...pair: unknown[]) {
      written.push(pair);
      clock.advance(tookMs);
      if (written.length <= failures) throw error;
      return '7';
    },
  };
  const pair = tokenPair();

  const stored = storePair({ vault, clock }, 'main', pair, { deadlineMs: clock.now() + deadlineMs });

  expect(await stored.catch((thrown: unknown) => thrown)).toBe(version ?? error);
  expect(clock.slept).toEqual(slept);
  expect(written).toEqual(Array(slept.length + 1).fill(['main', pair]));
});

import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { BridgeFault, type FaultKind } from '../../../../shared/domain/faults.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { type TokenSource, withTokenOf } from '../../../../shared/partner-api/token-source.ts';

const whose = { partnerAccount: 'main', generation: 1, deadlineMs: 1_000, isIll: true };

/** A token source that logs what is asked of it: each rejected token has a successor. */
function setUp(change: Partial<TokenSource> = {}) {
  const log: string[] = [];
  let version = 1;
  const withToken = withTokenOf({
    async current({ resource, isNext, rejected, ...more }) {
      // What is not waited for is not in the log.
      await nextTurn();
      expect(more).toEqual(whose);
      log.push(
        `${version} for ${resource}${isNext ? ' now' : ''}${rejected ? ` after ${rejected.version}` : ''}`,
      );
      return { token: new Secret(`${version}`), version: `${version}`, expiresAt: 0 };
    },
    reject(name, rejectedVersion, because) {
      log.push(`${name} ${rejectedVersion} ${because}`);
      version += 1;
    },
    mayRenew: (name, used) => name === 'main' && used === `${version}`,
    counts: async (...answer) => void log.push(`counts ${answer.join(' ')}`),
    async helped(name, used) {
      await nextTurn();
      log.push(`${name} ${used} helped`);
    },
    ...change,
  });
  /** Sends a request that is answered by these faults, one after the other, and then well. */
  const request = (faults: readonly (FaultKind | Error)[]) => {
    const left = [...faults];
    return withToken(whose, async (tokenOf, isUndecided) => {
      log.push(`sent ${(await tokenOf('7', true)).reveal()}`);
      const [kind] = left.splice(0, 1);
      if (kind instanceof Error) throw kind;
      if (!kind) return 'active';
      const fault = new BridgeFault(kind, kind);
      if (isUndecided?.(fault)) log.push('undecided');
      throw fault;
    }).catch((fault: BridgeFault) => fault.code ?? fault);
  };
  return { log, request };
}

const [rejected, small] = ['token-rejected', 'scope-insufficient'] as const;
const broken = new Error('a bug');
const first = ['1 for 7 now', 'sent 1'];
const second = ['undecided', `main 1 ${rejected}`, '2 for 7 now after 1', 'sent 2'];
it.each<[string, readonly (FaultKind | Error)[], unknown, readonly string[]]>([
  ['says that it helped when the answer is good', [], 'active', ['main 1 helped']],
  ['is sent once more when its token was rejected', [rejected], 'active', [...second, 'main 2 helped']],
  ['is sent only once more', [rejected, rejected], rejected, second],
  ['reports too small a scope, and fails', [small], small, [`main 1 ${small}`, '2 for 7']],
  [
    'reports that of a renewed token, too',
    [rejected, small],
    small,
    [...second, `main 2 ${small}`, '3 for 7 after 1'],
  ],
  ['passes every other fault on', ['not-found'], 'not-found', []],
  ['passes every other error on', [broken], broken, []],
])('a request with a token %s', async (_rule, faults, outcome, expected) => {
  const { log, request } = setUp();

  expect(await request(faults)).toBe(outcome);
  expect(log).toEqual([...first, ...expected]);
});

it('a request is not sent again while no renewal may help', async () => {
  const { log, request } = setUp({ mayRenew: () => false });

  expect(await request([rejected])).toBe(rejected);
  expect(log).toEqual(first);
});

it('a request fails for its scope although that cannot be reported', async () => {
  let asked = 0;
  const { request } = setUp({
    async current() {
      asked += 1;
      if (asked > 1) throw new BridgeFault('transient', 'no row');
      return { token: new Secret('1'), version: '1', expiresAt: 0 };
    },
  });

  expect(await request([small])).toBe(small);
  expect(asked).toBe(2);
});

it('an answer of 401 counts when its renewal brings no other token', async () => {
  const { log, request } = setUp({
    async current({ rejected: answered }) {
      if (answered) throw answered.fault;
      return { token: new Secret('1'), version: '1', expiresAt: 0 };
    },
  });

  expect(await request([rejected])).toBe(rejected);
  expect(log).toEqual([
    'sent 1',
    'undecided',
    `main 1 ${rejected}`,
    `counts main 7 BridgeFault: ${rejected}`,
  ]);
});

import { expect, it } from 'vitest';
import { BridgeFault, type FaultKind } from '../../../../shared/domain/faults.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { withTokenOf } from '../../../../shared/partner-api/token-source.ts';

const [rejected, small] = ['token-rejected', 'scope-insufficient'] as const;
it.each<[string, FaultKind[], string, string[], string[]]>([
  ['repeats a request whose token was rejected', [rejected], 'active', ['1', '2'], ['1 token-rejected']],
  ['repeats it only once', [rejected, rejected], rejected, ['1', '2'], ['1 token-rejected']],
  ['rejects a token of too small a scope, and fails', [small], small, ['1'], ['1 scope-insufficient']],
  ['does so for a renewed one', [rejected, small], small, ['1', '2'], [`1 ${rejected}`, `2 ${small}`]],
  ['passes every other fault on', ['not-found'], 'not-found', ['1'], []],
])('a request with a token %s', async (_title, faults, expected, versions, expectedRejections) => {
  const sent: string[] = [];
  const rejections: string[] = [];
  let version = 1;
  const withToken = withTokenOf({
    current: async () => ({ token: new Secret(`${version}`), version: `${version}`, expiresAt: 0 }),
    reject(_name, rejectedVersion, because) {
      rejections.push(`${rejectedVersion} ${because}`);
      version += 1;
    },
    mayRenew: () => true,
    counts: async () => undefined,
    helped: async () => undefined,
  });
  const whose = { partnerAccount: 'main', generation: 1, deadlineMs: 1_000 };

  const outcome = await withToken(whose, async (tokenOf) => {
    const kind = faults[sent.push((await tokenOf('main 7', true)).reveal()) - 1];
    if (kind) throw new BridgeFault(kind, kind);
    return 'active';
  }).catch((fault: BridgeFault) => fault.code);

  expect([outcome, sent, rejections]).toEqual([expected, versions, expectedRejections]);
});

it('an answer of 401 counts when its renewal brings no other token', async () => {
  const [counted, fault] = [[] as unknown[], new BridgeFault(rejected, rejected)];
  const withToken = withTokenOf({
    async current({ rejected: answered }) {
      if (answered) throw answered.fault;
      return { token: new Secret('1'), version: '1', expiresAt: 0 };
    },
    reject: () => undefined,
    mayRenew: () => true,
    counts: async ({ resource, rejected: answered }) => void counted.push(resource, answered?.fault),
    helped: async () => undefined,
  });
  const whose = { partnerAccount: 'main', generation: 1, deadlineMs: 1_000 };

  const outcome = withToken(whose, async (tokenOf) => {
    await tokenOf('main 7', true);
    throw fault;
  });

  await expect(outcome).rejects.toBe(fault);
  expect(counted).toEqual(['main 7', fault]);
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checked, ShapeError } from '../../../shared/contract/checks.ts';
import { connectEvent, refreshEvent } from '../../../shared/contract/invocations.ts';
import { secretNames } from '../../../shared/contract/names.ts';
import { asBridgeFault } from '../../../shared/domain/faults.ts';
import { applicationOfText, pairOfText, textOfPair } from '../../../shared/domain/secret.ts';
import { holdOf } from '../../helpers/holds.ts';
import { createWorld } from '../../helpers/world.ts';
import { errorOf, expectNoTrace, marker, nearlyRight, nearlyRightJson } from './nearly-right.ts';

const rightPair = {
  accessToken: `access-${marker}`,
  refreshToken: `refresh-${marker}`,
  scope: 'v2 read write',
  expiresAt: '2026-11-20T13:00:00.000Z',
  obtainedAt: '2026-11-20T12:00:00.000Z',
  generation: 1_763_640_000,
};
const rightApplication = { clientId: `client-${marker}`, clientSecret: `hush-${marker}` };

function expectShapeError(error: unknown, place: string): void {
  expectNoTrace(error);
  if (error === undefined) return;
  expect(error).toBeInstanceOf(ShapeError);
  expect((error as ShapeError).message).toMatch(new RegExp(`^${place}: `));
  expect((error as ShapeError).cause).toBeUndefined();
}

describe('a secret, half-written or edited by hand', () => {
  it('is a pair, or an error that names the secret and the fields, never contents', async () => {
    await fc.assert(
      fc.asyncProperty(nearlyRightJson(rightPair), async (text) => {
        const error = await errorOf(() => pairOfText(text, `${secretNames.partnerAccountPrefix}main`));

        expectShapeError(error, 'secret advert-bridge/partner-accounts/main');
      }),
      { numRuns: 600 },
    );
  });

  it('is the application, or such an error', async () => {
    await fc.assert(
      fc.asyncProperty(nearlyRightJson(rightApplication), async (text) => {
        const error = await errorOf(() => applicationOfText(text, secretNames.application));

        expectShapeError(error, 'secret advert-bridge/application');
      }),
      { numRuns: 400 },
    );
  });

  it('is never written over by a refresh that cannot read it, nor takes the account for stopped', async () => {
    await fc.assert(
      fc.asyncProperty(nearlyRightJson(rightPair), async (text) => {
        fc.pre(
          (await errorOf(() => pairOfText(text, `${secretNames.partnerAccountPrefix}main`))) !== undefined,
        );
        const world = await createWorld();
        const rejectedVersion = (await world.account())?.token?.version ?? '';
        world.state.vault.edit('main', text);

        const outcome = await world.refreshToken.refresh(
          { partnerAccount: 'main', rejectedVersion, because: 'token-rejected' },
          world.options(),
        );

        expect(outcome).toMatchObject({ kind: 'failed', fault: 'malformed-state' });
        expect(JSON.stringify([outcome, world.observer.lines])).not.toContain(marker);
        expect((await errorOf(() => world.state.vault.read('main'))) instanceof ShapeError).toBe(true);
        expect(holdOf(await world.account(), 'authorization')).toBeUndefined();
      }),
      { numRuns: 100 },
    );
  });

  // The time would become NaN, which DynamoDB cannot store, and no refresh would ever end.
  it('is refused where a time in it cannot be', () => {
    const text = JSON.stringify({ ...rightPair, expiresAt: '2026-13-45T99:99:99Z' });

    expect(asBridgeFault(pairErrorOf(text)).code).toBe('malformed-state');
  });

  it('can be written again once it was read', async () => {
    await fc.assert(
      fc.asyncProperty(nearlyRight(rightPair), async (value) => {
        const text = JSON.stringify(value);
        fc.pre(
          (await errorOf(() => pairOfText(text, `${secretNames.partnerAccountPrefix}main`))) === undefined,
        );

        const again = pairOfText(
          textOfPair(pairOfText(text, `${secretNames.partnerAccountPrefix}main`)),
          'main',
        );

        expect(
          again.refreshToken.equals(pairOfText(text, `${secretNames.partnerAccountPrefix}main`).refreshToken),
        ).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

function pairErrorOf(text: string): unknown {
  try {
    return pairOfText(text, `${secretNames.partnerAccountPrefix}main`);
  } catch (error) {
    return error;
  }
}

describe('an event of refresh-token or connect, nearly right', () => {
  const requests = [
    { action: 'refresh', partnerAccount: 'main', rejectedVersion: '1', because: 'expired' },
    { action: 'connect', partnerAccount: 'main', refreshToken: `refresh-${marker}` },
    { action: 'connect', partnerAccount: 'main', code: `code-${marker}`, redirectUri: 'https://a.example' },
    { action: 'disconnect', partnerAccount: 'main', forget: true },
  ];

  it('is a request, or an error without a word of it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom<object>(...requests).chain(nearlyRight), async (event) => {
        expectShapeError(
          await errorOf(() => checked(refreshEvent, event, 'event of refresh-token')),
          'event of refresh-token',
        );
        expectShapeError(
          await errorOf(() => checked(connectEvent, event, 'event of connect')),
          'event of connect',
        );
      }),
      { numRuns: 500 },
    );
  });

  // A union would have one issue for all of its members, "expected Object", and no place.
  it('says which field is of another type', async () => {
    const error = await errorOf(() => checked(refreshEvent, { ...requests[0], rejectedVersion: 5 }, 'event'));
    const other = await errorOf(() => checked(connectEvent, { ...requests[3], forget: 'yes' }, 'event'));

    expect((error as Error).message).toContain('rejectedVersion');
    expect((other as Error).message).toContain('forget');
  });
});

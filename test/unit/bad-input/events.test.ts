import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { checkedJson, ShapeError } from '../../../shared/contract/checks.ts';
import { type Envelope, envelope } from '../../../shared/contract/events.ts';
import { advertEvent, authorizationEvent } from '../../../shared/domain/advert-event.ts';
import { changedAdvert } from '../../helpers/records.ts';
import { errorOf, expectNoTrace, nearlyRightJson, oddValue } from './nearly-right.ts';

const seen = { bridge: 'AdvertBridge', previousStatus: 'new', sequence: 7, observedAt: 1_795_176_000_123 };
const change = {
  bridge: 'AdvertBridge',
  partnerAccount: 'main',
  generation: 1_763_640_000,
  tokenVersion: '3',
  reason: 'scope-insufficient',
  observedAt: 1_795_176_000_123,
};
const events: readonly Envelope[] = [
  advertEvent(changedAdvert(), { ...seen, status: 'active' }) as Envelope,
  advertEvent(changedAdvert(), { ...seen, status: null }) as Envelope,
  authorizationEvent('required', change),
  authorizationEvent('restored', change),
];
const event = fc.constantFrom(...events);
const isEvent = (value: unknown) => v.safeParse(envelope, value).success;

describe('an event, nearly right', () => {
  it('is an event of the contract, or an error that names the place', async () => {
    await fc.assert(
      fc.asyncProperty(event.chain(nearlyRightJson), async (text) => {
        const error = await errorOf(() => checkedJson(envelope, text, 'event'));

        expectNoTrace(error);
        if (error !== undefined) expect(error).toBeInstanceOf(ShapeError);
      }),
      { numRuns: 800 },
    );
  });

  it('is taken with whatever was added to it, at every level', async () => {
    const added = fc.dictionary(
      fc.string().map((key) => `x-${key}`),
      oddValue,
      { maxKeys: 3 },
    );
    await fc.assert(
      fc.asyncProperty(event, added, added, added, added, async (right, top, detail, metadata, data) => {
        const grown = {
          ...top,
          ...right,
          detail: {
            ...detail,
            metadata: { ...metadata, ...right.detail.metadata },
            data: { ...data, ...right.detail.data },
          },
        };

        expect(isEvent(grown)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it('is taken in every minor version and refused in every other major one', async () => {
    await fc.assert(
      fc.asyncProperty(event, fc.nat({ max: 99 }), fc.nat({ max: 999 }), async (right, major, minor) => {
        const metadata = { ...right.detail.metadata, schemaVersion: `${major}.${minor}` };

        expect(isEvent({ ...right, detail: { ...right.detail, metadata } })).toBe(major === 1);
      }),
      { numRuns: 200 },
    );
  });

  it('is refused under a version that is none', async () => {
    const version = oddValue.filter((value) => typeof value !== 'string' || !/^1\.\d+$/.test(value));
    await fc.assert(
      fc.asyncProperty(event, version, async (right, schemaVersion) => {
        const metadata = { ...right.detail.metadata, schemaVersion };

        expect(isEvent({ ...right, detail: { ...right.detail, metadata } })).toBe(false);
      }),
      { numRuns: 100 },
    );
  });
});

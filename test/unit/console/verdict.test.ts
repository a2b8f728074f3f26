import { describe, expect, it } from 'vitest';
import { verdictOf } from '../../../console/page/verdict.ts';
import type { Snapshot } from '../../../console/snapshot.ts';

type Received = Parameters<typeof verdictOf>[0];
const finding = {
  what: 'x',
  partnerAccount: null,
  since: null,
  says: 'It is so.',
  advice: null,
  mend: null,
  runbook: null,
};

/** A page of a bridge that works, with what `facts` and `more` change. */
const seen = (facts: object = {}, more: object = {}): Received => ({
  events: [],
  isCutOff: false,
  snapshot: {
    bridge: { again: 'advert-bridge console --local x' },
    ...{ at: 0, findings: [], error: null, ...more },
    facts: {
      partnerAccounts: [{ name: 'main', state: 'polling', reason: null, lagSeconds: 1 }],
      isRunning: true,
      ...facts,
    },
  } as object as Snapshot,
});
const failing = { partnerAccounts: [{ name: 'main', state: 'polling', reason: '503', lagSeconds: 12 }] };

describe('the title of the page', () => {
  it.each([
    ['All well', seen()],
    ['Waiting', seen({}, { findings: [{ ...finding, severity: 'note', what: 'no-account' }] })],
    ['Looking', { events: [], isCutOff: false }],
    ['Cut off', { ...seen(), isCutOff: true }],
    ['Cut off', { ...seen(), isCutOff: true, refused: 'x' }],
    ['Not readable', seen({}, { error: 'gone' })],
    ['All well', seen(failing)],
    ['Waiting', seen({}, { findings: [{ ...finding, severity: 'note', what: 'rate-limited' }] })],
    ['All well', seen({}, { findings: [{ ...finding, severity: 'note' }] })],
    ['1 needs attention', seen(failing, { findings: [{ ...finding, severity: 'fault' }] })],
  ] as const)('begins with %s', (title, received) => {
    expect(verdictOf(received, 0).title).toBe(title);
  });
});

describe('the sentence of a page that is cut off', () => {
  const cutOff = { ...seen(), isCutOff: true };
  it.each([
    ['a console that ended', cutOff, 'start it again: advert-bridge console --local x'],
    ['a console that was started again', { ...cutOff, refused: 'open the address' }, 'open the address'],
  ])('names what brings it back after %s', (_, received, how) => {
    const { sentence } = verdictOf(received, 12_000);
    expect(sentence).toContain('What you see is 12 s old.');
    expect(sentence.endsWith(how)).toBe(true);
  });
});

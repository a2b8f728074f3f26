import { expect, it } from 'vitest';
import { verdictOf } from '../../../../operators/console/page/verdict.ts';
import type { Snapshot } from '../../../../operators/console/snapshot.ts';

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

const account = { name: 'main', state: 'polling', reason: null, hold: null, lagSeconds: 1 };

/** A page of a bridge that works, with what `facts` and `more` change. */
const seen = (facts: object = {}, more: object = {}): Received => ({
  events: [],
  isCutOff: false,
  snapshot: {
    bridge: { again: 'advert-bridge console --local x', pollSeconds: 60 },
    ...{ at: 0, findings: [], error: null, ...more },
    facts: {
      partnerAccounts: [account],
      ...{
        isRunning: true,
        pausedUntil: null,
        paused: null,
        hold: null,
        lastDrain: '1970-01-01T00:00:00.000Z',
      },
      ...facts,
    },
  } as object as Snapshot,
});
const failing = { partnerAccounts: ['second', 'third'].map((name) => ({ ...account, name, reason: '503' })) };
const until = '1970-01-01T00:00:20.000Z';
const waiting = { ...account, state: 'paused', reason: '503', hold: { kind: 'feed' }, nextTrial: until };
const disconnected = { ...account, state: 'stopped', reason: 'disconnected' };

it.each([
  ['All well', seen()],
  ['Waiting', seen({}, { findings: [{ ...finding, severity: 'note', what: 'no-account' }] })],
  ['Looking', { events: [], isCutOff: false }],
  ['Cut off', { ...seen(), isCutOff: true }],
  ['Cut off', { ...seen(), isCutOff: true, refused: 'x' }],
  ['Not readable', seen({}, { error: 'gone' })],
  ['Trying again', seen(failing)],
  ['Trying again', seen({ partnerAccounts: [waiting] })],
  ['All well', seen({ partnerAccounts: [disconnected] })],
  ['Waiting', seen({}, { findings: [{ ...finding, severity: 'note', what: 'rate-limited' }] })],
  ['All well', seen({}, { findings: [{ ...finding, severity: 'note' }] })],
  ['1 needs attention', seen(failing, { findings: [{ ...finding, severity: 'fault' }] })],
] as const)('the title of the page begins with %s', (title, received) => {
  expect(verdictOf(received, 0).title).toBe(title);
});

const cutOff = { ...seen(), isCutOff: true };
it('a page that is cut off names the command when the console ended', () => {
  const { sentence, command, passing } = verdictOf(cutOff, 12_000);
  expect(sentence).toMatch(/start it again.*:$/);
  expect(command).toBe('advert-bridge console --local x');
  expect(passing).toBe('What you see is 12 s old.');
});

it('a page that is cut off shows the answer of a console started again', () => {
  const { sentence } = verdictOf({ ...cutOff, refused: 'open the address' }, 0);
  expect(sentence).toMatch(/To go on, open the address$/);
});

it('the page says that the last poll failed, and of how many accounts', () => {
  const { sentence, tone } = verdictOf(seen({ partnerAccounts: [waiting, ...failing.partnerAccounts] }), 0);
  expect(tone).toBe('attention');
  expect(sentence).toBe('The last poll of main and 2 others failed; trying again: 503.');
});

it.each([
  [{ partnerAccounts: [waiting] }, 'The next request for main is sent in 12 s.'],
  [{ partnerAccounts: [waiting], pausedUntil: until }, 'The next request is sent in 12 s.'],
  [failing, 'The next poll begins in 52 s.'],
  [{ ...failing, lastDrain: '1969-12-31T23:59:00.000Z' }, 'The next poll begins now.'],
  [{ ...failing, isRunning: false }, undefined],
  [{ ...failing, hold: { kind: 'circuit', until: '1970-01-01T00:00:01.000Z' } }, undefined],
  [{}, undefined],
])('the page says how long it is to the next trial: %#', (facts, says) => {
  expect(verdictOf(seen(facts), 8_000).passing).toBe(says);
});

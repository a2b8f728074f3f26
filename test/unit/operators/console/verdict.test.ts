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
  page: null,
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

const note = { ...finding, severity: 'note' };
const fault = { ...finding, severity: 'fault' };
const tries = (names: string) => `The last poll of ${names} failed; trying again: 503.`;
const gone =
  'The console does not answer. If it has ended, start it again, and open the address that it prints:';

it.each([
  ['well', 'All well', 'Changes of the partner account are delivered as events.', seen()],
  [
    ...['well', 'All well', 'Changes of both partner accounts are delivered as events.'],
    seen({ partnerAccounts: [account, disconnected] }),
  ],
  [
    ...['well', 'All well', 'Changes of all 3 partner accounts are delivered as events.'],
    seen({ partnerAccounts: [account, account, account] }),
  ],
  ['well', 'All well', /^Changes of/, seen({}, { findings: [note] })],
  ['unknown', 'Looking', 'Reading the bridge.', { events: [], isCutOff: false }],
  ['fault', 'Cut off', gone, { ...seen(), isCutOff: true }],
  [
    ...['fault', 'Cut off', 'The console does not know this page. To go on, reload it'],
    { ...seen(), isCutOff: true, refused: 'reload it' },
  ],
  ['fault', 'Not readable', 'The bridge cannot be read: it is gone', seen({}, { error: 'it is gone' })],
  ['attention', 'Waiting', 'It is so.', seen({}, { findings: [{ ...note, what: 'no-account' }] })],
  ['attention', 'Waiting', 'It is so.', seen({}, { findings: [{ ...note, what: 'rate-limited' }] })],
  ['attention', 'Trying again', tries('main'), seen({ partnerAccounts: [waiting] })],
  ['attention', 'Trying again', tries('second and 1 other'), seen(failing)],
  [
    ...['attention', 'Trying again', tries('main and 2 others')],
    seen({ partnerAccounts: [waiting, ...failing.partnerAccounts] }),
  ],
  ['fault', '1 needs attention', 'It is so.', seen(failing, { findings: [fault] })],
  [
    ...['attention', '2 need attention', 'It is so. And 1 more, below.'],
    seen({}, { findings: [{ ...finding, severity: 'attention' }, fault] }),
  ],
] as const)('the page is %s and begins with "%s": %s', (tone, title, says, received) => {
  const { sentence, ...verdict } = verdictOf(received as Received, 0);
  expect(verdict).toMatchObject({ tone, title });
  expect(sentence).toEqual(typeof says === 'string' ? says : expect.stringMatching(says));
});

const cutOff = { ...seen(), isCutOff: true };
it('a page that is cut off names the command that starts the console again', () => {
  const { command, passing } = verdictOf(cutOff, 12_000);
  expect(command).toBe('advert-bridge console --local x');
  expect(passing).toBe('What you see is 12 s old.');
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

import { expect, it } from 'vitest';
import { type HistoryPorts, readHistory } from '../../../operations/history/read-history.ts';
import { feedState, partnerAccount } from '../../helpers/records.ts';

const noon = Date.parse('2026-11-20T12:00:00Z');

it('history does not say that a dead letter was dropped, while SQS does not show all of them', async () => {
  const found = { letters: [], unseen: 1 };
  const ports: HistoryPorts = {
    partnerAccounts: {
      read: async () => partnerAccount(),
      list: async () => [partnerAccount()],
    },
    feedStates: { list: async () => [feedState({ lastSuccess: noon })] },
    budgetStore: { read: async () => ({ nextSlotMs: 0, pausedUntilMs: 0 }) },
    // The row that fan-out writes before it dead-letters the first message of an advert.
    advertHistories: {
      read: async () => ({ sequence: 0, status: null, pending: true, etag: 'absent' }),
    },
    waitingMessages: { ofAdvert: async () => [] },
    deadLetters: { list: async () => found },
    settings: async () => ({}),
    isDelivering: () => true,
    hiddenQueue: { length: async () => 0, readLog: async () => [] },
  };

  const { outcome, answer } = await readHistory(ports, { partnerAccount: 'main', advertId: '123' }, noon);

  expect({ outcome, answer }).not.toMatchObject({ outcome: 'dropped' });
  expect(answer).not.toContain('was dropped');
});

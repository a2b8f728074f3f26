import { expect, it } from 'vitest';
import type { Bridge } from '../../../../operators/operations/bridge.ts';
import { type SendPage, snapshot } from '../../../../operators/operations/snapshot/snapshot.ts';
import { partnerAccount } from '../../../helpers/records.ts';

const bridge = { partnerAccounts: { list: async () => [partnerAccount()] } } as unknown as Bridge;

it('a snapshot sends every page and ends at one refused in part', async () => {
  const asked: (string | undefined)[] = [];
  const pages = [{ events: 2, next: 'a' }, { events: 0, next: 'b' }, { events: 1 }];
  const sendPage: SendPage = async (_, from) => {
    asked.push(from);
    return pages.shift() ?? { events: 3, refused: 1, next: 'c' };
  };
  const options = { name: undefined, signal: new AbortController().signal, onSent: () => undefined };

  expect(await snapshot(bridge, sendPage, options)).toBe(3);
  await expect(snapshot(bridge, sendPage, options)).rejects.toThrow('1 of 3 events were not accepted');
  expect(asked).toEqual([undefined, 'a', 'b', undefined]);
});

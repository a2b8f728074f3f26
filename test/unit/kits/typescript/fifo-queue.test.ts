import * as fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { advertEventHandler, BatchFailedError } from '../../../../kits/typescript/index.ts';
import {
  anAdvertStatusChanged,
  anSqsRecord,
  createInMemoryPositions,
} from '../../../../kits/typescript/testing/index.ts';

const groups = ['1', '2', '3'];
const numbers = [1, 2, 3, 4, 5, 6];
const all = numbers.flatMap((number) => groups.map((group) => ({ group, number })));
const nameOf = ({ group, number }: (typeof all)[number]) => `${group}/${number}`;
const batchSize = 10;

it('a FIFO queue is left in the order of each group, whatever fails once', async () => {
  for (const method of ['error', 'warn'] as const) vi.spyOn(console, method).mockReturnValue();
  const some = fc.subarray(all.map(nameOf));
  await fc.assert(
    fc.asyncProperty(some, some, async (failing, malformed) => {
      const failsNow = new Set(failing);
      const failOnce = (name: string) => {
        if (failsNow.delete(name)) throw new Error('not yet');
      };
      const applied: string[] = [];
      const handler = advertEventHandler({
        positions: createInMemoryPositions(),
        onRefused: async ({ body }) => failOnce(body),
        on: {
          AdvertStatusChanged({ detail: { data, metadata } }) {
            const name = `${data.advertId}/${metadata.sequence}`;
            failOnce(name);
            applied.push(name);
          },
        },
      });
      let queue = all.map(({ group, number }) => {
        const name = nameOf({ group, number });
        const event = anAdvertStatusChanged({ advertId: group, sequence: number });
        return anSqsRecord(malformed.includes(name) ? name : event, name, group);
      });

      const left: string[] = [];
      while (queue.length > 0) {
        const Records = queue.slice(0, batchSize);
        const names = Records.map(({ messageId }) => messageId);
        const { batchItemFailures } = await handler({ Records }).catch((error) => {
          if (!(error instanceof BatchFailedError)) throw error;
          return { batchItemFailures: names.map((itemIdentifier) => ({ itemIdentifier })) };
        });
        const back = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
        left.push(...names.filter((name) => !back.has(name)));
        queue = queue.filter(({ messageId }) => !left.includes(messageId));
      }

      for (const group of groups) {
        const own = numbers.map((number) => nameOf({ group, number }));
        expect(left.filter((name) => own.includes(name))).toEqual(own);
        expect(applied.filter((name) => own.includes(name))).toEqual(
          own.filter((name) => !malformed.includes(name)),
        );
      }
    }),
  );
});

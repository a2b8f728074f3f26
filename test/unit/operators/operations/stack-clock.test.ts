import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { expect, it, onTestFinished } from 'vitest';
import { pause } from '../../../../operators/operations/pause.ts';
import { createStackClock } from '../../../../operators/operations/stack-clock.ts';
import { systemClock } from '../../../../shared/domain/clock.ts';
import { heldBy } from '../../../../shared/domain/holds.ts';
import { rowPorts } from '../../../../shared/state/row-ports.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';

const minuteMs = 60_000;

/** DynamoDB, whose clock is ahead of that of this machine. */
async function startAws(aheadMs: number, status = 200): Promise<DynamoDBClient> {
  const server = createServer((_request, response) => {
    response.statusCode = status;
    response.setHeader('date', new Date(Date.now() + aheadMs).toUTCString()).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  return new DynamoDBClient({
    ...{ endpoint: `http://127.0.0.1:${port}`, region: 'eu-central-1', credentials, maxAttempts: 1 },
  });
}

it.each([-15, -5, 5, 15])(
  'a pause for 10 minutes lasts as long when the clock is %d minutes off',
  async (off) => {
    const aheadMs = -off * minuteMs;
    const client = await startAws(aheadMs);
    const clock = createStackClock(client);
    const { budgetStore, partnerAccounts } = rowPorts(createInMemoryStore());
    await client.send(new ListTablesCommand());

    const bridge = {
      clock: systemClock,
      host: { kind: 'stack', clock } as const,
      budgetStore,
      partnerAccounts,
      who: async () => 'laptop',
    };
    await pause(bridge, undefined, { forMs: 10 * minuteMs });

    const held = await budgetStore.read();
    const ofFunctions = (minutes: number) => Date.now() + aheadMs + minutes * minuteMs;
    expect(heldBy(held, 'operator', ofFunctions(0.1))).toBeDefined();
    expect(heldBy(held, 'operator', ofFunctions(9.9))).toBeDefined();
    expect(heldBy(held, 'operator', ofFunctions(10.1))).toBeUndefined();
    client.destroy();
  },
);

it('learns the time also when AWS refuses the request', async () => {
  const client = await startAws(10 * minuteMs, 400);
  const clock = createStackClock(client);

  await expect(client.send(new ListTablesCommand())).rejects.toThrow();

  expect((clock.now() - Date.now()) / minuteMs).toBeCloseTo(10, 1);
  client.destroy();
});

it('keeps its own time when AWS has the same', async () => {
  const client = await startAws(2_000);
  const clock = createStackClock(client);

  await client.send(new ListTablesCommand());

  expect(clock.now() - Date.now()).toBeLessThan(1_000);
  client.destroy();
});

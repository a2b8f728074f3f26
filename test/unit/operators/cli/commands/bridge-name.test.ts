import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { stateFileIn } from '../../../../../embedded/state/file/private-folder.ts';
import { advertEventHandler } from '../../../../../kits/typescript/index.ts';
import { aLambdaEvent, createInMemoryPositions } from '../../../../../kits/typescript/testing/index.ts';
import { eventsIn, startConnected } from '../local-bridge.ts';

/** A folder whose partner account `main` has three adverts. */
async function startFolder() {
  const folder = await startConnected();
  const change = () => folder.sandbox.control.createAdverts(3);
  const published = async () => eventsIn((await folder.runUntilIdle()).stdout);
  const store = (name: string) =>
    folder.run(
      `application --base-url ${folder.sandbox.url} --client-id sandbox-client --client-secret-stdin --name ${name}`,
      { stdin: 'sandbox-client-secret' },
    );
  change();
  return { ...folder, change, published, store };
}
const bridgesOf = (events: ReturnType<typeof eventsIn>) => [
  ...new Set(events.map(({ detail }) => detail.metadata.bridge)),
];

it('two folders stay apart when one subscriber has their events', async () => {
  const [first, second] = [await startFolder(), await startFolder()];
  const events = [...(await first.published()), ...(await second.published())].reverse();
  const applied: string[] = [];
  const skipped: string[] = [];
  const handler = advertEventHandler({
    positions: createInMemoryPositions(),
    on: { AdvertStatusChanged: ({ detail }) => void applied.push(detail.metadata.eventId) },
    onSkipped: (_, reason) => void skipped.push(reason),
  });

  await handler(aLambdaEvent(events), { getRemainingTimeInMillis: () => 30_000 });

  expect([applied.length, skipped]).toEqual([6, []]);
  expect(bridgesOf(events)).toEqual([1, 2].map(() => expect.stringMatching(/^bridge-[0-9a-f]{8}$/)));
});

it('a bridge keeps its name when its application is stored again', async () => {
  const { application, change, published, store } = await startFolder();
  const before = bridgesOf(await published());

  await application();
  change();
  expect(bridgesOf(await published())).toEqual(before);
  expect((await store('Shop')).stderr).toContain('events name the bridge Shop');
  change();
  expect(bridgesOf(await published())).toEqual(['Shop']);
  expect(await store('1st')).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--name') });
});

it('a bridge is named AdvertBridge when its folder is of release 0.3.0', async () => {
  const { application, dir, published } = await startFolder();
  const db = new DatabaseSync(stateFileIn(dir));
  db.exec("DELETE FROM rows WHERE kind = 'document' AND name = 'setting/bridge-name'");
  db.close();

  await application();

  expect(bridgesOf(await published())).toEqual(['AdvertBridge']);
});

/**
 * What each release has stored, taken over by these sources: read as the release read it, and gone on with. Nothing is lost,
 * no event is published twice, and the numbers of events go on where they were.
 */
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resume } from '../../operations/pause.ts';
import type { AdvertEvent } from '../../shared/contract/events.ts';
import { Secret } from '../../shared/domain/secret.ts';
import { stateFileIn } from '../../shared/sqlite/file/state-file.ts';
import { createFakeService } from '../helpers/fake-service.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { scratchFolders } from '../helpers/scratch-folder.ts';
import type { Kept } from './kept.ts';
import { accountNames } from './life.ts';
import { ids, meaningOf } from './meaning.ts';
import { fileOf, type Release, released, releases } from './releases.ts';
import { startBridge } from './running.ts';
import { type Aws, fileStore, type Store, stackStore, startAws } from './stores.ts';

const newFolder = scratchFolders();
let aws: Aws;
beforeAll(async () => {
  aws = await startAws();
});
afterAll(() => aws.stop());

type Kind = 'stack' | 'embedded';
const keptBy = (release: Release, kind: Kind): Kept => JSON.parse(fileOf(release, `${kind}.json`));

/** The bridge an hour after the release was stopped. */
async function takeOver(release: Release, kind: Kind) {
  const kept = keptBy(release, kind);
  const clock = createManualClock(kept.now + 3_600_000);
  const store: Store = kind === 'stack' ? await stackStore(aws, clock, kept.state) : openFile(release, clock);
  const service = createFakeService(clock);
  for (const [what, id, status = ''] of kept.told) {
    if (what === 'change') service.change(id, status);
    else service[what](id);
  }
  return { kept, clock, store, service, bridge: startBridge(store, service, clock, 'now') };
}

function openFile({ version }: Release, clock: ReturnType<typeof createManualClock>) {
  const dir = newFolder();
  const store = fileStore(dir, clock, join(released, version, 'bridge.db'));
  chmodSync(stateFileIn(dir), 0o600);
  return store;
}

/** The latest events of rows that say so. */
const owedBy = ({ meaning }: Kept): Set<string> => {
  const { histories } = meaning as Awaited<ReturnType<typeof meaningOf>>;
  const rows = Object.values(histories).flatMap((ofFeeds) => Object.values(ofFeeds).flat());
  return new Set(rows.flatMap((row) => (row?.owed && row.envelope) || []));
};

const objectEvents = (texts: readonly string[]) =>
  texts.map((text) => JSON.parse(text) as AdvertEvent).filter(({ detail }) => 'sequence' in detail.metadata);

describe.each(releases)('the state of release $version', (release) => {
  describe.each(['stack', 'embedded'] as const)('of a bridge %s', (kind) => {
    it('means what it meant to the release', async () => {
      const { kept, store } = await takeOver(release, kind);

      expect(await meaningOf(store)).toMatchObject(kept.meaning as object);
    });

    it('is gone on with: nothing is lost, nothing comes twice, the numbers go on', async () => {
      const { kept, clock, store, service, bridge } = await takeOver(release, kind);
      const { state } = store;
      const { events, options, round, work, connect, refreshToken } = bridge;

      // The token of the release is good for one more pair, and the event that the bus had not taken goes out.
      clock.advance(86_400_000);
      await refreshToken.sweep(options());
      expect(service.grants).toContainEqual(
        expect.objectContaining({ refreshToken: new Secret('refresh-1') }),
      );
      expect(events.accepted.map((text) => JSON.parse(text)['detail-type'])).toEqual([
        'PartnerAuthorizationRequired',
      ]);
      await resume(
        { accounts: state.partnerAccounts, budgetStore: state.budgetStore },
        'resting',
        { early: false },
        clock.now(),
      );
      for (const partnerAccount of ['rejected', 'left']) {
        await connect.connect({ partnerAccount, refreshToken: new Secret(`${partnerAccount}-1`) }, options());
      }
      expect(await store.redrive()).toBeGreaterThan(0);
      service.change('7', 'new');
      service.change('16', 'new');
      const isWaiting = async () => (await state.bookKeeper.queue()).waiting > 0;
      for (let rounds = 0; rounds < 6 && (rounds < 2 || (await isWaiting())); rounds += 1) {
        await round();
        while ((await work()) > 0);
      }

      expect(await isWaiting()).toBe(false);
      const accepted = [...kept.accepted, ...events.accepted];
      const texts = new Set(accepted);
      const idOf = (text: string): string => JSON.parse(text).detail.metadata.eventId;
      // A number has one content; what comes again is what the release had noted as owed.
      expect(new Set([...texts].map(idOf)).size).toBe(texts.size);
      const again = accepted.filter((text, index) => accepted.indexOf(text) < index);
      expect(again.filter((text) => !owedBy(kept).has(text))).toEqual([]);
      const byObject = Map.groupBy(objectEvents([...texts]), ({ resources }) => `${resources[0]}`);
      const objects = accountNames.flatMap((name) =>
        ids.flatMap((id) => [`${name}/advert/${id}`, `${name}/order/${id}`]),
      );
      for (const object of objects) {
        const history = byObject.get(`advert-bridge/${object}`) ?? [];
        const statuses = history.map(({ detail }) => detail.data.status);
        expect(
          history.map(({ detail }) => [detail.metadata.sequence, detail.data.previousStatus]),
          object,
        ).toEqual(statuses.map((_, index) => [index + 1, statuses[index - 1] ?? null]));
        expect(statuses.at(-1) ?? null, object).toBe(service.statusOf(object.split('/')[2] ?? ''));
      }
    });
  });
});

import type { ChangedAdvert } from '../../shared/contract/messages.ts';
import { advertEvent } from '../../shared/domain/advert-event.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import type { HistoryOwner } from '../../shared/domain/history-key.ts';
import { type EmbeddedState, openEmbeddedState } from '../../shared/sqlite/state.ts';
import { setUpBridge, withFolder } from '../runs/bridge-run.ts';
import { type Service, startService } from '../runs/processes.ts';
import { type Sample, sampleOf } from './sample.ts';

const partnerAccount = 'main';
const firstAdvertId = 1001;
const statuses = ['active', 'sold'];
const writesAtOnce = 2_000;
const requestsAtOnce = 20;

export interface KnownAdvertsOptions {
  /** Sizes of the state files in adverts; each is a multiple of `changes`. */
  readonly sizes: readonly number[];
  readonly changes: number;
  readonly rounds: number;
  readonly progress: (text: string) => void;
}

/**
 * Measures the same changes with state files that contain few and many adverts. Each file is kept between rounds, and
 * each round changes the same adverts again, which are spread over the whole file.
 *
 * @returns for each round, a sample of each size
 */
export function ofKnownAdverts({
  sizes,
  changes,
  rounds,
  progress,
}: KnownAdvertsOptions): Promise<Sample[][]> {
  return withFolder(async (folder) => {
    const service = await startService({
      users: [{ name: partnerAccount, adverts: changes }],
      firstAdvertId,
    });
    try {
      const dirs = sizes.map((size) => ({ size, dir: `${folder}/${size}` }));
      for (const { size, dir } of dirs) {
        await setUpBridge(service, dir, new Date().toISOString());
        await fill(dir, size, changes);
        progress(`a state file with ${size.toLocaleString('en')} adverts is made`);
      }
      const samples: Sample[][] = [];
      for (let round = 0; round < rounds; round += 1) {
        await changeAll(service, changes, statuses[round % 2] as string);
        const taken: Sample[] = [];
        for (const { size, dir } of dirs) taken.push(await sampleOf(service, dir, { size, changes }));
        samples.push(taken);
      }
      return samples;
    } finally {
      await service.stop();
    }
  });
}

async function changeAll(service: Service, changes: number, status: string): Promise<void> {
  for (let index = 0; index < changes; index += requestsAtOnce) {
    const ids = Array.from({ length: Math.min(requestsAtOnce, changes - index) }, (_, more) =>
      String(firstAdvertId + index + more),
    );
    await Promise.all(ids.map((id) => service.control(`/adverts/${id}/status`, { status })));
  }
}

/** Writes histories of adverts with one event each, through the bridge's own adapter. */
async function fill(dir: string, size: number, changes: number): Promise<void> {
  const state = openEmbeddedState(dir);
  try {
    const account = await state.partnerAccounts.read(partnerAccount);
    if (!account) throw new Error(`there is no partner account in ${dir}`);
    const { generation } = account;
    const stride = strideOf(size);
    for (let index = 0; index < size; index += writesAtOnce) {
      const some = Array.from({ length: Math.min(writesAtOnce, size - index) }, (_, more) =>
        advertIdOf(((index + more) * stride) % size, changes),
      );
      await Promise.all(
        some.map((advertId) => write(state, { partnerAccount, generation, feed: 'adverts', advertId })),
      );
    }
  } finally {
    state.close();
  }
}

/**
 * The first IDs are the service's. Each of the others begins with the digits of one of those, so that the index,
 * which is sorted as text, has equally many between any two adverts that change.
 */
function advertIdOf(index: number, changes: number): string {
  const id = String(firstAdvertId + (index % changes));
  return index < changes ? id : `${id}${String(Math.floor(index / changes)).padStart(8, '0')}`;
}

/** A step length that visits every number below `size`, in an order that is not sequential on disk. */
function strideOf(size: number): number {
  const divides = (a: number, b: number): number => (b === 0 ? a : divides(b, a % b));
  let stride = Math.floor(size * 0.618);
  while (divides(stride, size) !== 1) stride += 1;
  return stride;
}

const newId = 'f'.repeat(32);

async function write({ advertHistories }: EmbeddedState, key: HistoryOwner): Promise<void> {
  const observedAt = Date.now();
  const listedAt = toInstant(observedAt);
  const message: ChangedAdvert = {
    ...key,
    key: `${newId}:${key.advertId}`,
    listedAt,
    cause: 'feed',
    correlationId: newId,
  };
  const event = advertEvent(message, {
    bridge: 'AdvertBridge',
    status: 'limited',
    previousStatus: null,
    sequence: 1,
    observedAt,
  });
  const isNew = await advertHistories.write(key, {
    version: 1,
    sequence: 1,
    status: 'limited',
    envelope: JSON.stringify(event),
    by: message.key,
    pending: false,
  });
  if (!isNew) throw new Error(`advert ${key.advertId} is there twice`);
}

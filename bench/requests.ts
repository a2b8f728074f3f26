import type { Bench } from './report/report.ts';
import { runBridge } from './runs/bridge-run.ts';
import { startService } from './runs/processes.ts';

const latencyMs = 5;
const concurrency = 50;

export const requests: Bench = {
  does: "number of requests to the partner service, from the service's log",
  async run({ rounds, isShort, progress }) {
    const changes = isShort ? 1_000 : 20_000;
    const distinct: number[] = [];
    const repeated: number[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      distinct.push(await countRequests({ changes, adverts: changes }));
      repeated.push(await countRequests({ changes, adverts: changes / 10 }));
      progress(
        `round ${round} of ${rounds}: ${distinct.at(-1)} for distinct adverts, ${repeated.at(-1)} for a tenth as many adverts`,
      );
    }
    const perThousand = (counts: readonly number[]) => counts.map((count) => (count / changes) * 1_000);
    return {
      figures: [
        {
          what: 'requests for a thousand distinct changes',
          rounds: perThousand(distinct),
          unit: '',
          digits: 1,
          target: { most: 1_002 },
        },
        {
          what: 'requests for a thousand listings of a hundred adverts, at random',
          rounds: perThousand(repeated),
          unit: '',
          digits: 1,
        },
      ],
      notes: [
        'The token request, one per day, is not included. A poll without changes is one request; test/unit/aws/call-counts.test.ts checks that and the number of AWS calls.',
        'A page puts each advert into the queue once. If later pages list the advert again, all its messages that are received together share one fetch. They cannot share an earlier fetch, because its status may be older than the listed change.',
      ],
    };
  },
};

async function countRequests(wanted: {
  readonly changes: number;
  readonly adverts: number;
}): Promise<number> {
  const service = await startService({ latencyMs, journalLimit: 10 * wanted.changes + 1_000 });
  try {
    const since = new Date(Date.now() - 60_000).toISOString();
    await service.control('createAdverts', wanted.adverts, { status: 'active' });
    for (let made = wanted.adverts; made < wanted.changes; made += wanted.adverts) {
      await service.control('changeRandomly', wanted.adverts);
    }
    const { settled } = await runBridge(service, { concurrency, since });
    if (settled !== wanted.changes)
      throw new Error(`${settled} listed IDs of ${wanted.changes} were settled`);
    const entries = await service.journal();
    return entries.filter(({ endpoint }) => endpoint === 'advert' || endpoint === 'feed').length;
  } finally {
    await service.stop();
  }
}

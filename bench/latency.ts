import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AdvertTruth } from '../sandbox/control/control.ts';
import type { JournalEntry } from '../sandbox/state/journal.ts';
import { type Bench, type BenchOptions, median, quantile, type Report } from './report/report.ts';
import { runArguments, runUntilIdle, setUpBridge, withFolder } from './runs/bridge-run.ts';
import { commandLine, type Service, start, startService } from './runs/processes.ts';

const rates = [1, 10, 100];
const judged = { rate: 10, maxP99Ms: 150 };
const latencyMs = 20;
/** The default concurrency. */
const concurrency = 10;
const pollSeconds = 1;
const lateMs = 15_000;
const backlogPages = 20;
const pageSize = 1_000;

/** From a change in the feed to the line of its event at the reader of standard output. */
export const latency: Bench = {
  does: 'time from a change to its event at the subscriber, at 1, 10 and 100 changes a second',
  run,
};

/** Waiting times of one change, ms. */
interface Waited {
  /** From the arrival of the poll that listed it to its event. */
  readonly beyondPoll: number;
  /** From the change to its event. */
  readonly inAll: number;
}

async function run({ rounds, isShort, progress }: BenchOptions): Promise<Report> {
  const seconds = isShort ? 5 : 35;
  const measured = rates.map((rate) => ({ rate, rounds: [] as (readonly Waited[])[] }));
  const firstEvents: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const { rate, rounds: taken } of measured) {
      const waited = await atRate(rate, seconds);
      taken.push(waited);
      const beyond = waited.map(({ beyondPoll }) => beyondPoll);
      progress(
        `round ${round} of ${rounds}, ${rate} changes/s: ${waited.length} changes, p50 ${quantile(beyond, 0.5).toFixed(0)} ms, p99 ${quantile(beyond, 0.99).toFixed(0)} ms beyond the poll`,
      );
    }
    firstEvents.push(await firstOfBacklog());
    progress(`round ${round} of ${rounds}: first event of a backlog at ${firstEvents.at(-1)?.toFixed(2)}`);
  }
  const shares = (share: number, of: (one: Waited) => number) =>
    measured.map(({ rounds }) => rounds.map((waited) => quantile(waited.map(of), share)));
  const beyond = ({ beyondPoll }: Waited) => beyondPoll;
  const inAll = (one: Waited) => one.inAll;
  const [p50, p99] = [shares(0.5, beyond), shares(0.99, beyond)];
  const [p50InAll, p99InAll] = [shares(0.5, inAll), shares(0.99, inAll)];
  const whole = (values: readonly number[] = []) => median(values).toFixed(0);
  return {
    figures: [
      ...rates.flatMap((rate, index) => [
        { what: `${rate} changes/s: p50`, rounds: p50[index] ?? [], unit: 'ms', digits: 0 },
        {
          what: `${rate} changes/s: p99`,
          rounds: p99[index] ?? [],
          unit: 'ms',
          digits: 0,
          ...(rate === judged.rate ? { target: { most: judged.maxP99Ms } } : {}),
        },
      ]),
      {
        what: `first event of a backlog of ${backlogPages} pages, relative to the time until its last page is requested`,
        rounds: firstEvents,
        unit: '',
        target: { most: 1 },
      },
    ],
    tables: [
      {
        title: `The same including the wait for the next poll, every ${pollSeconds} s`,
        columns: ['changes/s', 'changes a round', 'p50 ms', 'p99 ms'],
        rows: measured.map(({ rate, rounds }, index) => [
          rate,
          median(rounds.map(({ length }) => length)),
          whole(p50InAll[index]),
          whole(p99InAll[index]),
        ]),
      },
    ],
    plots: [
      {
        title: 'From the poll that lists a change to its event',
        xTitle: 'changes a second',
        yTitle: 'ms',
        xScale: 'log',
        lines: [
          { name: 'p99', points: rates.map((rate, index) => [rate, median(p99[index] ?? [])] as const) },
          { name: 'p50', points: rates.map((rate, index) => [rate, median(p50[index] ?? [])] as const) },
        ],
      },
    ],
    notes: [
      `Without the poll interval: from the arrival of the feed request that listed the change (from the service's log) to the event's line in the process that reads standard output. This includes two answers of the service,  ${latencyMs} ms each: the page and the advert.`,
      `Changes happen at random moments (a Poisson process), each of a different advert. A poll lists all changes of its ${pollSeconds} s interval at once, so at 100 changes a second the last of about a hundred waits for ten rounds of ${concurrency} (the default concurrency). The rate budget is not a limit.`,
      'At 1 change a second, a round has too few changes for a p99; the value is the slowest.',
    ],
  };
}

function atRate(rate: number, seconds: number): Promise<readonly Waited[]> {
  return withFolder(async (dir) => {
    const service = await startService({ latencyMs, journalLimit: 10 * rate * seconds + 10_000 });
    try {
      await setUpBridge(service, dir, new Date().toISOString());
      const bridge = start(commandLine, [
        ...runArguments(dir, { concurrency }),
        '--poll-seconds',
        String(pollSeconds),
      ]);
      const came: Came[] = [];
      createInterface({ input: bridge.stdout }).on('line', (line) => came.push({ line, atMs: now() }));
      await firstPoll(service, await service.requests());
      const changes = await makeChanges(service, rate, seconds);
      for (const end = now() + lateMs; came.length < changes; await sleep(50)) {
        if (now() > end) throw new Error(`${came.length} events of ${changes} came within ${lateMs} ms`);
      }
      bridge.kill();
      const [code] = await once(bridge, 'close');
      if (code !== 0) throw new Error(`the bridge exited with ${code}`);
      return waitedOf(came, await changeTimes(service), await polls(service));
    } finally {
      await service.stop();
    }
  });
}

interface Came {
  readonly line: string;
  readonly atMs: number;
}

/** The same clock as in the journal. */
const now = (): number => performance.timeOrigin + performance.now();

const polls = async (service: Service): Promise<readonly JournalEntry[]> =>
  (await service.journal()).filter(({ endpoint }) => endpoint === 'feed');

/** Waits until the bridge runs, because the bench `idle-poll` measures the start-up. */
async function firstPoll(service: Service, requestsBefore: number): Promise<void> {
  while ((await service.requests()) === requestsBefore) await sleep(50);
  await sleep(500);
}

/** @returns the number of changes */
async function makeChanges(service: Service, rate: number, seconds: number): Promise<number> {
  const made: Promise<unknown>[] = [];
  const end = now() + seconds * 1_000;
  for (let next = now(); next < end; next += (-Math.log(1 - Math.random()) / rate) * 1_000) {
    if (next > now()) await sleep(next - now());
    made.push(service.control('createAdverts', 1, { status: 'active' }));
  }
  await Promise.all(made);
  return made.length;
}

/** The creation time of each advert, by its ID, ms since 1970. */
async function changeTimes(service: Service): Promise<ReadonlyMap<string, number>> {
  const adverts = (await service.control('truth')) as readonly AdvertTruth[];
  return new Map(adverts.map(({ id, history }) => [id, history[0]?.atMs ?? Number.NaN]));
}

function waitedOf(
  came: readonly Came[],
  changes: ReadonlyMap<string, number>,
  asked: readonly JournalEntry[],
): Waited[] {
  return came.map(({ line, atMs }) => {
    const { detail } = JSON.parse(line) as {
      detail: { metadata: { listedAt: string }; data: { advertId: string } };
    };
    // `listedAt` is the time of the page's answer, in whole milliseconds; polls are a second apart.
    const answeredAt = Date.parse(detail.metadata.listedAt) + 1;
    const poll = asked.findLast(({ arrivedAtMs }) => arrivedAtMs <= answeredAt);
    const change = changes.get(detail.data.advertId);
    if (!poll || change === undefined) throw new Error(`nothing is known of ${line}`);
    return { beyondPoll: atMs - poll.arrivedAtMs, inAll: atMs - change };
  });
}

/** When the first event of a backlog comes: 0 means with the first page, 1 with the last. */
function firstOfBacklog(): Promise<number> {
  return withFolder(async (dir) => {
    const service = await startService({ latencyMs, journalLimit: 100_000 });
    try {
      const since = new Date(Date.now() - 60_000).toISOString();
      await service.control('createAdverts', backlogPages * pageSize, { status: 'active' });
      await setUpBridge(service, dir, since);
      const before = (await polls(service)).length;
      let first = Number.POSITIVE_INFINITY;
      const onLine = () => {
        first = Math.min(first, now());
      };
      await runUntilIdle(service, dir, { concurrency: 50, onLine });
      const pages = (await polls(service)).slice(before, before + backlogPages);
      const [begun, ended] = [pages[0]?.arrivedAtMs, pages.at(-1)?.arrivedAtMs];
      if (begun === undefined || ended === undefined || pages.length < backlogPages) {
        throw new Error(`${pages.length} pages of ${backlogPages} were asked for`);
      }
      return (first - begun) / (ended - begun);
    } finally {
      await service.stop();
    }
  });
}

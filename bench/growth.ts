import { ofChanges } from './growth/changes.ts';
import { ofKnownAdverts } from './growth/known-adverts.ts';
import { ofPartnerAccounts } from './growth/partner-accounts.ts';
import type { Sample } from './growth/sample.ts';
import {
  type Bench,
  type BenchOptions,
  type Figure,
  median,
  type Plot,
  type Report,
} from './report/report.ts';

const maxGrowth = 1.1;
const maxMb = 200;
/** A run of few changes ends before the young generation of the heap has grown to its full size. */
const maxMemoryGrowth = 1.25;

const sizes = {
  whole: {
    changes: [1_000, 10_000, 100_000],
    partnerAccounts: [1, 10, 100, 1_000],
    knownAdverts: [20_000, 1_000_000],
    /** Number of changes for `partnerAccounts` and `knownAdverts`. */
    changesOfEach: 20_000,
  },
  short: {
    changes: [1_000, 10_000],
    partnerAccounts: [1, 100],
    knownAdverts: [2_000, 100_000],
    changesOfEach: 2_000,
  },
};

/**
 * Shows that neither history nor the number of accounts makes changes slower or uses memory: memory is only for
 * current work.
 */
export const growth: Bench = {
  does: 'time, requests and memory for a change, from 1,000 changes to 100,000, from 1 partner account to 1,000, and with a million adverts known; no delay, concurrency 50',
  run,
};

interface Measured {
  readonly of: string;
  /** For each round, a sample of each size. */
  readonly rounds: Sample[][];
}

async function run({ rounds, isShort, progress }: BenchOptions): Promise<Report> {
  const { changes, partnerAccounts, knownAdverts, changesOfEach } = sizes[isShort ? 'short' : 'whole'];
  const tell = (of: string, round: number, { size, usPerChange, peakMb }: Sample) =>
    progress(
      `round ${round} of ${rounds}, ${size.toLocaleString('en')} ${of}: ${usPerChange.toFixed(0)} µs a change, ${peakMb.toFixed(0)} MB`,
    );

  async function inTurn(of: string, all: readonly number[], work: (size: number) => Promise<Sample>) {
    const measured: Measured = { of, rounds: [] };
    for (let round = 1; round <= rounds; round += 1) {
      const samples: Sample[] = [];
      for (const size of all) {
        const sample = await work(size);
        tell(of, round, sample);
        samples.push(sample);
      }
      measured.rounds.push(samples);
    }
    return measured;
  }

  const byChanges = await inTurn('changes', changes, ofChanges);
  const byAccounts = await inTurn('partner accounts', partnerAccounts, (count) =>
    ofPartnerAccounts(count, changesOfEach),
  );
  const byAdverts: Measured = {
    of: 'known adverts',
    rounds: await ofKnownAdverts({ sizes: knownAdverts, changes: changesOfEach, rounds, progress }),
  };
  for (const [index, samples] of byAdverts.rounds.entries()) {
    for (const sample of samples) tell(byAdverts.of, index + 1, sample);
  }
  const whole = [byChanges, byAccounts, byAdverts];
  return {
    figures: [
      ...whole.flatMap((measured) => [
        grown(measured, 'time for a change', ({ usPerChange }) => usPerChange, maxGrowth),
        grown(measured, 'requests for a change', ({ requestsPerChange }) => requestsPerChange, maxGrowth),
      ]),
      {
        what: `time of the last tenth of ${name(byChanges, -1)}, relative to the second tenth`,
        rounds: byChanges.rounds.map((samples) => samples.at(-1)?.lastOfSecondTenth ?? Number.NaN),
        unit: 'times',
        target: { most: maxGrowth },
      },
      {
        what: `peak memory, ${name(byChanges, -1)}`,
        rounds: byChanges.rounds.map((samples) => samples.at(-1)?.peakMb ?? Number.NaN),
        unit: 'MB',
        digits: 0,
        target: { most: maxMb },
      },
      grown(byChanges, 'peak memory', ({ peakMb }) => peakMb, isShort ? undefined : maxMemoryGrowth, -2),
      ...[byAccounts, byAdverts].map((measured) =>
        grown(measured, 'peak memory', ({ peakMb }) => peakMb, maxMemoryGrowth),
      ),
    ],
    tables: [
      {
        title: 'Values behind the ratios, medians',
        columns: ['of', 'how many', 'time, µs a change', 'CPU, µs a change', 'requests a change', 'peak MB'],
        rows: whole.flatMap((measured) =>
          sizesOf(measured).map((size, index) => {
            const middle = (of: (sample: Sample) => number, digits: number) =>
              median(measured.rounds.map((samples) => of(samples[index] as Sample))).toFixed(digits);
            return [
              measured.of,
              size.toLocaleString('en'),
              middle(({ usPerChange }) => usPerChange, 0),
              middle(({ cpuUsPerChange }) => cpuUsPerChange, 0),
              middle(({ requestsPerChange }) => requestsPerChange, 3),
              middle(({ peakMb }) => peakMb, 0),
            ];
          }),
        ),
      },
    ],
    plots: whole.map(plotOf),
    notes: [
      'Time is from the first to the last event at the reader, so it does not include start-up; CPU does. Small sizes include the warm-up, so the target is only that the largest size costs no more than the smallest.',
      `The partner accounts share the same ${changesOfEach.toLocaleString('en')} changes. The state files of few and of a million adverts get the same ${changesOfEach.toLocaleString('en')} changes, of adverts that both know and that are spread over the file.`,
      "Everything is in the machine's file cache; real disk reads would add their time for each advert.",
    ],
  };
}

const sizesOf = ({ rounds }: Measured): number[] => (rounds[0] ?? []).map(({ size }) => size);
const name = (measured: Measured, at: number): string =>
  `${sizesOf(measured).at(at)?.toLocaleString('en')} ${measured.of}`;

/** Compares the largest size with another one, by default the smallest. */
function grown(
  measured: Measured,
  what: string,
  of: (sample: Sample) => number,
  most?: number,
  from = 0,
): Figure {
  return {
    what: `${what}, ${name(measured, -1)} compared with ${sizesOf(measured).at(from)?.toLocaleString('en')}`,
    rounds: measured.rounds.map((samples) => of(samples.at(-1) as Sample) / of(samples.at(from) as Sample)),
    unit: 'times',
    ...(most === undefined ? {} : { target: { most } }),
  };
}

const plotOf = (measured: Measured): Plot => ({
  title: `What a change takes, by number of ${measured.of}`,
  xTitle: measured.of,
  yTitle: 'µs',
  xScale: 'log',
  lines: [
    { title: 'time', of: ({ usPerChange }: Sample) => usPerChange },
    { title: 'CPU', of: ({ cpuUsPerChange }: Sample) => cpuUsPerChange },
  ].map(({ title, of }) => ({
    name: title,
    points: sizesOf(measured).map(
      (size, index) =>
        [size, median(measured.rounds.map((samples) => of(samples[index] as Sample)))] as const,
    ),
  })),
});

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { billOf, priceList, sumOf, totalOf, type Usage, withoutFree } from './cost/bill.ts';
import type { Measured, Setting } from './cost/measure.ts';
import { minutesAMonth, type StackFacts, stackFacts } from './cost/stack.ts';
import { type Bench, type Figure, median } from './report.ts';

/**
 * $ at list price. A change is written twice, because its event is confirmed in the row. An idle month cannot cost less
 * without a secret ($0.80 for two), the polling of the queue ($0.35), the lag's metric ($0.30), or an alarm with a cause
 * of its own ($1.10 for eleven).
 */
const targets = { millionChanges: 2.9, idleMonth: 2.8, furtherAccount: 0.5, dashboard: 3 };
/** A rate at which no request waits for the rate budget. */
const setting: Setting = { partnerAccounts: 1, changes: 1_000, latencyMs: 50, maxRequestsPerSecond: 1_000 };
const manyAccounts = 11;
/** The drain reads each token secret again every hour; while there are changes, so does the fan-out. */
const looksAtTokensAMonth = minutesAMonth / 60;
/**
 * Not measured: Lambda polls an idle queue with long polls of 20 s. Five concurrent pollers are documented for
 * standard queues, nothing is documented for FIFO queues.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
 */
const idleReceives: Usage = { sqsFifoRequest: 5 * 3 * minutesAMonth };
/** Smaller parts of a bill are not shown, $. */
const minShown = 0.05;

interface Answer {
  readonly facts: StackFacts;
  readonly measured: Measured;
}

async function measured(one: Setting): Promise<Answer> {
  const script = fileURLToPath(new URL('cost/measure.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, JSON.stringify(one)], {
    maxBuffer: 100_000_000,
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
  });
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Answer;
}

/** Usage of a month without changes. */
function idleMonth({ facts, measured: { idlePoll, idleMetrics, sweep } }: Answer, accounts: number): Usage {
  const { drain, refreshToken } = facts.scheduled;
  return sumOf(
    [1, facts.monthly],
    [accounts, { secretMonth: 1, secretsManagerCall: looksAtTokensAMonth }],
    [1, { customMetricMonth: idleMetrics, schedulerInvocation: drain + refreshToken }],
    [drain, idlePoll],
    [refreshToken, sweep],
    [facts.isTraced ? drain + refreshToken : 0, { xRayTrace: 1 }],
    [1, idleReceives],
  );
}

const perMillion = ({ measured: { changes, batchMs } }: Answer): Usage =>
  sumOf([1_000_000 / (10 * batchMs.length), changes]);

const partsOf = (what: string, usage: Usage): Figure[] =>
  billOf(usage)
    .filter(({ usd }) => usd >= minShown)
    .map(({ unit, amount, usd }) => {
      return {
        what,
        at: `${Math.round(amount).toLocaleString('en')} ${unit}`,
        rounds: [usd],
        unit: '$',
      };
    });

export const cost: Bench = {
  does: 'AWS costs of a million changes, an idle month and a further partner account, from counted calls',
  async run({ rounds, isShort, progress }) {
    const ones: Answer[] = [];
    const manies: Answer[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      const one = await measured({ ...setting, changes: isShort ? 200 : setting.changes });
      ones.push(one);
      manies.push(await measured({ ...setting, changes: 10, partnerAccounts: manyAccounts }));
      progress(`round ${round} of ${rounds}: a batch takes ${median(one.measured.batchMs).toFixed(0)} ms`);
    }
    const further = ones.map((one, index) => {
      const many = idleMonth(manies[index] as Answer, manyAccounts);
      return (totalOf(many) - totalOf(idleMonth(one, 1))) / (manyAccounts - 1);
    });
    const { dashboardMonth = 0 } = stackFacts({ dashboard: 'true' }).monthly;
    const [one] = ones as [Answer];
    const figure = (what: string, values: readonly number[], most?: number): Figure => {
      return { what, rounds: values, unit: '$', ...(most === undefined ? {} : { target: { most } }) };
    };
    const idle = ones.map((answer) => idleMonth(answer, 1));
    return [
      figure(
        'a million changes',
        ones.map((answer) => totalOf(perMillion(answer))),
        targets.millionChanges,
      ),
      ...partsOf('of a million changes', perMillion(one)),
      figure('an idle month with one partner account', idle.map(totalOf), targets.idleMonth),
      ...partsOf('of an idle month', idleMonth(one, 1)),
      figure("an idle month with AWS's permanent free tier", idle.map(withoutFree).map(totalOf)),
      figure('a month of each further partner account', further, targets.furtherAccount),
      figure('a month of the dashboard', [totalOf({ dashboardMonth })], targets.dashboard),
    ];
  },
  notes: [
    `Costs: calls are counted as HTTP requests, at list prices of ${priceList.region}, ${priceList.date} (tools/bench/prices.json). The partner service answers after ${setting.latencyMs} ms, batches are full, and the rate budget is no limit. What Lambda logs itself, and the polls of an idle queue, are calculated.`,
  ],
};

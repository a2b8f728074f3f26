import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { billOf, priceList, sumOf, totalOf, type Usage, withoutFree } from './cost/bill.ts';
import type { Measured, Setting } from './cost/measure.ts';
import { minutesAMonth, type StackFacts, stackFacts } from './cost/stack.ts';
import { type Bench, median, type Table } from './report/report.ts';

const targets = { millionChanges: 2.2, idleMonth: 1.5, furtherAccount: 0.5, dashboard: 3 };
/** A rate at which no request waits for the rate budget; the bench `queue` shows the cost of waiting. */
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

interface Answer {
  readonly facts: StackFacts;
  readonly measured: Measured;
}

/** Uses one process for each measurement, because the functions keep state in their modules. */
async function measured(one: Setting): Promise<Answer> {
  const script = fileURLToPath(new URL('cost/measure-process.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, JSON.stringify(one)], {
    maxBuffer: 100_000_000,
    cwd: fileURLToPath(new URL('..', import.meta.url)),
  });
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Answer;
}

const usd = (value: number): string => value.toFixed(3);

function billTable(title: string, usage: Usage): Table {
  const amount = (value: number) =>
    value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)));
  return {
    title,
    columns: ['what', 'how much', '$'],
    rows: [
      ...billOf(usage)
        .filter(({ amount }) => amount > 0)
        .map((line) => [line.unit, amount(line.amount), usd(line.usd)]),
      ['**sum**', '', `**${usd(totalOf(usage))}**`],
    ],
  };
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

export const cost: Bench = {
  does: 'AWS costs of a million changes, an idle month and a further partner account, from counted calls',
  async run({ rounds, isShort, progress }) {
    const ones: Answer[] = [];
    const manies: Answer[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      ones.push(await measured({ ...setting, changes: isShort ? 200 : setting.changes }));
      manies.push(await measured({ ...setting, changes: 10, partnerAccounts: manyAccounts }));
      progress(
        `round ${round} of ${rounds}: a batch takes ${median(ones.at(-1)?.measured.batchMs ?? []).toFixed(0)} ms`,
      );
    }
    const perMillion = ({ measured: { changes, batchMs } }: Answer): Usage =>
      sumOf([1_000_000 / (10 * batchMs.length), changes]);
    const month = (accounts: number, one: Answer) => idleMonth(one, accounts);
    const further = ones.map(
      (one, index) =>
        (totalOf(month(manyAccounts, manies[index] as Answer)) - totalOf(month(1, one))) / (manyAccounts - 1),
    );
    const { monthly: withDashboard } = stackFacts({ dashboard: 'true' });
    const [one] = ones as [Answer];
    const accountMonth = median(further);
    const idle = totalOf(month(1, one));
    const million = median(ones.map((answer) => totalOf(perMillion(answer))));
    const growth = (accounts: number, perSecond: number) =>
      idle + (accounts - 1) * accountMonth + ((perSecond * minutesAMonth * 60) / 1_000_000) * million;
    const accounts = [1, 10, 100, 1_000];
    const rates = [0, 0.01, 0.1, 1, 10, 100];
    return {
      figures: [
        {
          what: 'a million changes, $',
          rounds: ones.map((answer) => totalOf(perMillion(answer))),
          unit: '',
          target: { most: targets.millionChanges },
        },
        {
          what: "an idle month with one partner account, $, with AWS's permanent free tier",
          rounds: ones.map((answer) => totalOf(withoutFree(month(1, answer)))),
          unit: '',
          target: { most: targets.idleMonth },
        },
        {
          what: 'the same at list price, without the free tier',
          rounds: ones.map((answer) => totalOf(month(1, answer))),
          unit: '',
          target: { most: targets.idleMonth },
        },
        {
          what: 'what the setting dashboard adds to a month, $ at list price',
          rounds: ones.map(() => totalOf({ dashboardMonth: withDashboard.dashboardMonth ?? 0 })),
          unit: '',
          target: { most: targets.dashboard },
        },
        {
          what: 'a month of each further partner account, $',
          rounds: further,
          unit: '',
          target: { most: targets.furtherAccount },
        },
      ],
      tables: [
        billTable('A million changes, read by the page and handled by tens', perMillion(one)),
        billTable('An idle month with one partner account, at list price', month(1, one)),
        callTable(one),
        {
          title: 'A month, $ at list price',
          columns: ['partner accounts', ...rates.map((rate) => `${rate} changes/s`)],
          rows: accounts.map((many) => [many, ...rates.map((rate) => growth(many, rate).toFixed(2))]),
        },
      ],
      plots: [
        {
          title: 'What a month costs',
          xTitle: 'changes a second, all partner accounts together',
          yTitle: '$ a month',
          xScale: 'log',
          yScale: 'log',
          lines: accounts.map((many) => ({
            name: `${many} partner ${many === 1 ? 'account' : 'accounts'}`,
            points: rates.filter((rate) => rate > 0).map((rate) => [rate, growth(many, rate)] as const),
          })),
        },
      ],
      notes: [
        `List prices of ${priceList.region}, ${priceList.date}: bench/prices.json, with the source of each price, and what is missing.`,
        `The partner service answers after ${setting.latencyMs} ms; batches are full (ten messages); the rate budget is not a limit. Invocations are timed on this machine, with the emulators in the same process.`,
        'At the default of ten requests a second, functions cost money while a backlog waits for the budget: up to $0.70 per million changes instead of the figure for GB-seconds above ([capacity.md](../operate/capacity.md)). A batch that is not full costs the same for SQS, Lambda, budget and books.',
        'Calls are counted as HTTP requests. The length of the two lines that Lambda logs for each invocation, and the five long polls of an idle queue, are calculated and not measured.',
        'An alarm email (`alarmEmail`) adds $1.00 a month for the key of its topic.',
      ],
    };
  },
};

function callTable({ measured: { calls, batchMs } }: Answer): Table {
  const thousand = 1_000 / (10 * batchMs.length);
  const show = (value: number) => (value === 0 ? '' : (value * thousand).toFixed(0));
  return {
    title: 'Calls for a thousand changes',
    columns: ['call', 'calls', 'billed requests or events', 'read units', 'write units'],
    rows: Object.entries(calls)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, one]) => [
        name,
        show(one.calls),
        show(one.billed),
        show(one.readUnits),
        show(one.writeUnits),
      ]),
  };
}

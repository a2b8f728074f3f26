/** Calculates the cost of measured usage from the prices in tools/bench/prices.json. */
import { readFileSync } from 'node:fs';
import type { Count } from '../../../test/helpers/aws/wire.ts';

interface Price {
  readonly usd: number;
  readonly per: number;
  readonly unit: string;
  /** Free amount per month for every AWS account. */
  readonly free?: number;
}

const list = JSON.parse(readFileSync(new URL('../prices.json', import.meta.url), 'utf8')) as {
  readonly region: string;
  readonly date: string;
  readonly prices: Readonly<Record<string, Price>>;
};

export const priceList = { region: list.region, date: list.date };

export type PriceName =
  | 'eventBridgeEvent'
  | 'dynamoDbWrite'
  | 'dynamoDbRead'
  | 'sqsFifoRequest'
  | 'lambdaRequest'
  | 'lambdaGbSecond'
  | 'logsIngested'
  | 'secretMonth'
  | 'secretsManagerCall'
  | 'customMetricMonth'
  | 'alarmMonth'
  | 'dashboardMonth'
  | 'schedulerInvocation'
  | 'xRayTrace'
  | 'archivedByte'
  | 'kmsKeyMonth';

/** Amounts used, in the unit of each price. */
export type Usage = { readonly [N in PriceName]?: number };

const priceOf = (name: PriceName): Price => {
  const price = list.prices[name];
  if (!price) throw new Error(`prices.json has no ${name}`);
  return price;
};

const entries = (usage: Usage) => Object.entries(usage) as [PriceName, number][];

export interface Line {
  readonly name: PriceName;
  readonly amount: number;
  readonly unit: string;
  readonly usd: number;
}

/** Costs at list price, highest first. */
export function billOf(usage: Usage): Line[] {
  return entries(usage)
    .map(([name, amount]) => {
      const { usd, per, unit } = priceOf(name);
      return { name, amount, unit, usd: (amount / per) * usd };
    })
    .sort((a, b) => b.usd - a.usd);
}

export const totalOf = (usage: Usage): number => billOf(usage).reduce((sum, { usd }) => sum + usd, 0);

/** Usage beyond the monthly free amounts, in an AWS account that contains nothing else. */
export const withoutFree = (usage: Usage): Usage =>
  Object.fromEntries(
    entries(usage).map(([name, amount]) => [name, Math.max(0, amount - (priceOf(name).free ?? 0))]),
  );

/** The sum of usages, each multiplied by a number. */
export function sumOf(...parts: readonly (readonly [times: number, usage: Usage])[]): Usage {
  const sum: { [N in PriceName]?: number } = {};
  for (const [times, usage] of parts) {
    for (const [name, amount] of entries(usage)) sum[name] = (sum[name] ?? 0) + times * amount;
  }
  return sum;
}

/** The usage that calls to AWS cause. */
export function usageOf(count: Count): Usage {
  const sum = (prefix: string, unit: 'billed' | 'readUnits' | 'writeUnits' | 'bytes'): number =>
    Object.entries(count).reduce(
      (total, [name, calls]) => total + (name.startsWith(prefix) ? calls[unit] : 0),
      0,
    );
  return {
    sqsFifoRequest: sum('sqs ', 'billed'),
    dynamoDbRead: sum('dynamodb ', 'readUnits'),
    dynamoDbWrite: sum('dynamodb ', 'writeUnits'),
    eventBridgeEvent: sum('events ', 'billed'),
    archivedByte: sum('events ', 'bytes'),
    secretsManagerCall: sum('secretsmanager ', 'billed'),
  };
}

/** The usage of the invocations themselves. @param memoryMb as deployed */
export const lambdaUsage = (durationsMs: readonly number[], memoryMb: number): Usage => ({
  lambdaRequest: durationsMs.length,
  lambdaGbSecond: durationsMs.reduce((sum, ms) => sum + Math.ceil(ms), 0) * (memoryMb / 1024 / 1000),
});

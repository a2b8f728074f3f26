import { App } from 'aws-cdk-lib';
import fc from 'fast-check';
import * as v from 'valibot';
import { expect, it } from 'vitest';
import { functionConfig } from '../../../functions/runtime/config.ts';
import { readSettings, SettingsError } from '../../../infra/config.ts';
import { stackSettings } from '../../../infra/constructs/props/stack-settings.ts';
import { functionResources, resourceKeys, settingsKey } from '../../../shared/contract/environment.ts';
import { fromText, schemasOf } from '../../../shared/contract/settings.ts';
import { errorOf, expectNoTrace, marker, oddValue, recordOf } from './values.ts';

const right: Record<string, unknown> = {
  partnerBaseUrl: 'https://partner.example',
  pollSeconds: '60',
  maxRequestsPerSecond: '10',
  requiredScope: 'v2 read write',
  acceptLanguage: 'pl',
  overlapSeconds: 300,
  confirmUnavailableSeconds: '0',
  confirmUnchangedSeconds: '0',
  circuitSeconds: '1800',
  maxPauseSeconds: '3600',
  eventFields: 'title,price.value',
  publishStatuses: 'active,sold',
  publishPartnerAccounts: 'main',
  auditSample: '299',
  busName: 'adverts',
  eventBuses: 'classic,custom',
  feedStateTable: 'restored-feed-state',
  advertStatusTable: 'restored-advert-status',
  subscriberAccounts: '111111111111,222222222222',
  organizationId: 'o-a1b2c3d4e5',
  alarmEmail: 'team@partner.example',
  alarmTopicArn: 'arn:aws:sns:eu-central-1:111111111111:pager',
  schemaRegistry: 'false',
  dashboard: 'true',
  backlogAlarmSeconds: '3600',
  runbookUrl: 'https://wiki.example/runbook',
  target: 'aws',
  stackName: 'AdvertBridge-2',
};
const names = Object.keys(right);
const schema = v.object(schemasOf(stackSettings));
const typed = (given: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(stackSettings).map(([name, setting]) => [name, fromText(setting, given[name])]),
  );
const isWrong = (name: string, value: unknown) =>
  !v.safeParse(schema, typed({ ...right, [name]: value })).success;

it('the table of nearly right settings lists every setting', () => {
  expect(names.sort()).toEqual(Object.keys(stackSettings).sort());
});

it('every fault of settings says what it should be, not its value', async () => {
  await fc.assert(
    fc.asyncProperty(recordOf(names, oddValue), async (odd) => {
      const wrong = names.filter((name) => name in odd && isWrong(name, odd[name]));
      // The CDK's own look-up of the context does without null.
      fc.pre(wrong.every((name) => odd[name] !== null));
      const error = await errorOf(() => readSettings(new App({ context: { ...right, ...odd } }).node));

      expectNoTrace(error);
      if (wrong.length === 0) return expect(error).toBeUndefined();
      expect(error).toBeInstanceOf(SettingsError);
      const { faults } = error as SettingsError;
      const places = faults.map((fault) => /^\w+/.exec(fault)?.[0] ?? '');
      expect(new Set(places)).toEqual(new Set(wrong));
      for (const fault of faults) expect(fault).toMatch(/: (expected|missing)/);
    }),
    { numRuns: 60 },
  );
});

it('a function reads its settings or names them without their values', async () => {
  const value = oddValue.map((odd) => (typeof odd === 'string' ? odd : `${JSON.stringify(odd)}${marker}`));
  const environment = recordOf([...Object.values(resourceKeys), settingsKey], value);
  const functions = Object.keys(functionResources) as (keyof typeof functionResources)[];
  await fc.assert(
    fc.asyncProperty(environment, fc.constantFrom(...functions), async (given, name) => {
      const error = await errorOf(() => functionConfig(name, given as Record<string, string>));

      expectNoTrace(error);
      if (error !== undefined) expect((error as Error).message).toMatch(/^environment of \w+: [A-Z_]+: /);
    }),
    { numRuns: 300 },
  );
});

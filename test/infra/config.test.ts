import { readFileSync } from 'node:fs';
import { Lazy } from 'aws-cdk-lib';
import { expect, it, vi } from 'vitest';
import { readSettings } from '../../infra/config.ts';
import { stackSettings } from '../../infra/constructs/props/stack-settings.ts';
import { runOptions } from '../../operators/cli/run/options.ts';
import { bridgeSettings } from '../../shared/contract/settings.ts';
import { settingsInterface, withSettingsTable } from '../../tools/contract/settings.ts';
import { appWith, bridgeWith, faultsOf, partnerBaseUrl } from '../helpers/synthesized.ts';

const read = (settings: Record<string, unknown>) => readSettings(appWith(settings).node);

it('settings default to what docs/operate/deploy.md says', () => {
  const settings = read({ partnerBaseUrl: 'https://partner.example/' });
  expect(settings).toMatchObject({ partnerBaseUrl: 'https://partner.example', pollSeconds: 60 });
  expect(settings).toMatchObject({ stackName: 'AdvertBridge', target: 'aws', dashboard: false });
});

it('settings are read from the text of the command line', () => {
  const settings = read({
    partnerBaseUrl: 'http://127.0.0.1:8080',
    pollSeconds: '5',
    confirmUnavailableSeconds: '0',
    subscriberAccounts: '111111111111, 222222222222',
    schemaRegistry: 'false',
    dashboard: 'true',
  });

  expect(settings).toMatchObject({
    pollSeconds: 5,
    confirmUnavailableSeconds: 0,
    subscriberAccounts: ['111111111111', '222222222222'],
    schemaRegistry: false,
    dashboard: true,
  });
});

const right = { partnerBaseUrl };
const accounts = (count: number) => Array.from({ length: count }, (_, index) => 100_000_000_000 + index);
const urls: readonly (readonly [url: string, expected: string])[] = [
  ['https://user:hunter2@partner.example', 'expected a URL without user and password'],
  ['https://partner.example?token=hunter2', 'expected a URL without a query or fragment'],
  ['https://partner.example/api/partner', 'expected a URL without the path of an endpoint'],
  ['http://partner.example', 'plain http only for loopback'],
  [Lazy.string({ produce: () => 'https://partner.example' }), 'expected a URL that is known at synth'],
];

it.each<[what: string, settings: Record<string, unknown>, faults: readonly string[]]>([
  ['90 subscriber accounts', { ...right, subscriberAccounts: accounts(90).join() }, []],
  [
    '91 subscriber accounts',
    { ...right, subscriberAccounts: accounts(91).join() },
    ['subscriberAccounts: expected at most 90'],
  ],
  [
    'nothing',
    { pollSeconds: '', busName: '' },
    [
      'partnerBaseUrl: expected the https URL',
      'pollSeconds: expected whole seconds from 1 to 60',
      'busName: expected the name of a bus',
    ],
  ],
  ...urls.map(([url, fault]): [string, Record<string, unknown>, string[]] => [
    url,
    { partnerBaseUrl: url },
    [fault],
  ]),
  [
    'misspelt names',
    { ...right, pollsSecond: '5', organisationid: 'x', 'alarm-email': 'a@b.example', maxRequests: '5' },
    [
      'pollsSecond: there is no such setting: did you mean pollSeconds?',
      'organisationid: there is no such setting: did you mean organizationId?',
      'alarm-email: there is no such setting: did you mean alarmEmail?',
      'maxRequests: there is no such setting',
    ],
  ],
  [
    'keys of CDK and of its plugins',
    {
      ...right,
      '@aws-cdk/core:bootstrapQualifier': 'ours',
      'aws:cdk:enable-path-metadata': true,
      'ssm:account=111111111111:parameterName=/x:region=eu-central-1': 'y',
      'acknowledged-issue-numbers': [34892],
      'cli-telemetry': false,
      'acme/pollSeconds': '5',
    },
    [],
  ],
])('faults of settings do not show the values, when they are %s', (_what, settings, expected) => {
  const faults = faultsOf(() => read(settings));
  expect(faults).toEqual(expected.map((fault) => expect.stringContaining(fault)));
  expect(faults.join()).not.toContain('hunter2');
});

it.each([
  [{ busName: 'default' }, [/^ {2}partnerBaseUrl: expected/, /^ {2}busName: expected/]],
  [{ partnerBaseUrl, eventBuses: 'custom', target: 'emulator' }, [/^ {2}eventBuses: expected \['classic'\]/]],
])('the app ends with exit code 2 and the faults when settings are %j', async (settings, expected) => {
  vi.resetModules();
  vi.stubEnv('CDK_CONTEXT_JSON', JSON.stringify(settings));
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);

  await import('../../infra/app.ts');

  expect(process.exitCode).toBe(2);
  process.exitCode = undefined;
  const [, ...faults] = String(written.mock.lastCall?.[0]).trimEnd().split('\n');
  expect(faults).toEqual(expected.map((fault) => expect.stringMatching(fault)));
});

const given = {
  ...{ pollSeconds: 20, maxRequestsPerSecond: 0.5, overlapSeconds: 10, circuitSeconds: 60 },
  ...{ confirmUnavailableSeconds: 0, confirmUnchangedSeconds: 20, maxPauseSeconds: 60, auditSample: 3 },
  ...{ requiredScope: 'v2 read', acceptLanguage: 'pl' },
  ...{ eventFields: ['title'], publishStatuses: ['active', 'sold'], publishPartnerAccounts: ['main'] },
};

it('every setting reaches every function unchanged', () => {
  expect(Object.keys(given).sort()).toEqual(Object.keys(bridgeSettings).sort());
  const functions = bridgeWith(() => given as never).ofType('AWS::Lambda::Function');
  expect(functions.length).toBeGreaterThan(3);
  for (const [, { Properties }] of functions) {
    expect(JSON.parse(Properties.Environment.Variables.SETTINGS)).toEqual({ partnerBaseUrl, ...given });
  }
});

it('every setting of a bridge is an option of run', () => {
  expect(Object.keys(runOptions)).toEqual(expect.arrayContaining(Object.keys(bridgeSettings)));
});

it('every setting is in the table of deploy.md and a construct property', () => {
  const page = readFileSync('docs/operate/deploy.md', 'utf8');
  expect(withSettingsTable(page)).toBe(page);
  for (const name of Object.keys(stackSettings)) expect(page).toContain(`\n| \`${name}\` |`);
  expect(readFileSync('infra/constructs/props/settings.generated.ts', 'utf8')).toBe(settingsInterface());
});

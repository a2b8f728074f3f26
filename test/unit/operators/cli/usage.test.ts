import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { cli, newFolder } from './run-cli.ts';

const deadLetters = ['list', 'show', 'redrive', 'drop'].map((name) => `dead-letters ${name}`);
const commands = [
  ...['application', 'connect', 'run', 'webhook', 'disconnect', 'backfill', 'resync', 'audit', 'snapshot'],
  ...[
    'move',
    'pause',
    'resume',
    'poll',
    'status',
    'doctor',
    'history',
    'tail',
    'sandbox',
    'demo',
    ...deadLetters,
  ],
];

it('help of the program names every command, with examples', async () => {
  const { exitCode, stdout, stderr } = await cli('--help');

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  for (const command of commands) expect(stdout).toContain(`\n  ${command.split(' ')[0]} `);
  expect(stdout).toContain('Examples');
});

it.each(commands)('help of %s has an example and fits on one screen', async (command) => {
  const { exitCode, stdout } = await cli([...command.split(' '), '--help']);

  expect(exitCode).toBe(0);
  expect(stdout).toContain(`\n  advert-bridge ${command}`);
  const lines = stdout.trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(40);
  // Examples are there to be copied.
  expect(lines.filter((line) => line.length > 80 && !line.startsWith('  advert-bridge'))).toEqual([]);
});

it('help comes as an error when no command is given', async () => {
  expect(await cli([])).toMatchObject({
    exitCode: 2,
    stdout: '',
    stderr: expect.stringMatching(/^Usage: advert-bridge/),
  });
});

describe('wrong usage ends with 2 and one message, which leads to what is right', () => {
  it.each([
    'frobnicate',
    'statsu',
    'run --pol-seconds 3',
    'status --frobnicate',
    '--local x status',
    'status --local',
    'status --json=yes',
    'status --local x --stack Y',
    'status --stack not_a_name',
    'connect --refresh-token-stdin',
    'connect ../x --local x --refresh-token-stdin',
    'connect main --local x --refresh-token-stdin --refresh-token-file y',
    'connect main --local x --refresh-token-stdin --paste',
    'connect main --local x --port 65536',
    'connect main --local x --paste --port 0',
    'connect main --local x --timeout-seconds 0',
    'connect main --local x --redirect-uri example',
    'connect main --local x --redirect-uri http://example.org/a',
    'connect main --local x --redirect-uri https://example.org/a',
    'connect main --local x --redirect-uri http://localhost:8765/a',
    'connect main --local x --redirect-uri http://127.0.0.1:80/a#b',
    'connect main --local x --redirect-uri http://127.0.0.1:80/a?b=1&&c=2',
    'connect main --local x --redirect-uri http://127.0.0.1:80/a?state=1',
    'connect main --local x --redirect-uri http://u@127.0.0.1:80/a',
    'connect main --local x --refresh-token-stdin --since yesterday',
    'connect main --local x --refresh-token-stdin --since 2026-02-30T00:00:00Z',
    'connect main --required-scope v2 --refresh-token-stdin',
    'disconnect',
    'disconnect main --forget --local x',
    'move --local x',
    'move --stack x',
    'run',
    'application --local x --client-id a --client-secret-stdin',
    'application --client-id a --client-secret-stdin --base-url https://a.b',
    'application --local x --client-id a --client-secret-stdin --base-url http://partner.example',
    'sandbox --port 70000',
    'dead-letters redrive --local x',
    'dead-letters redrive main --all --local x',
    'dead-letters drop main --local x',
    'dead-letters show ../x --local x',
    'dead-letters list --jsno',
    'dead-letters --local x list',
  ])('%s', async (args) => {
    const ended = await cli(args);

    expect(ended).toMatchObject({ exitCode: 2, stdout: '' });
    expect(ended.stderr).toMatch(/^advert-bridge: /);
    expect(ended.stderr).toMatch(/expected|--help|--[a-z]+|NAME|setting/);
    expect(ended.stderr).not.toMatch(/\n\s+at /);
  });

  it('wrong usage names every wrong option and what was meant', async () => {
    const { stderr } = await cli('run --local x --poll-seconds 0 --circuit-seconds= --overlap-seconds 9');

    for (const name of ['poll', 'circuit', 'overlap'])
      expect(stderr).toContain(`--${name}-seconds: expected`);
    expect((await cli('statsu')).stderr).toContain('Did you mean status?');
    expect((await cli('dead-letters lsit')).stderr).toContain('Did you mean list?');
    expect((await cli('deploy')).stderr).toContain('the CDK deploys a stack: `npx cdk deploy`');
    expect((await cli('status main second')).stderr).toContain(
      'status takes one partner account: run it once for each, or without a name for all of them',
    );
    expect((await cli('run --pol-seconds 3')).stderr).toContain('did you mean --poll-seconds?');
    expect((await cli('status -local x')).stderr).toContain('did you mean --local?');
    expect((await cli('help statsu')).stderr).toContain('Did you mean status?');
    expect((await cli('move --local x')).stderr).toContain('--stack: expected the name of a');
  });

  it.each(['status main second', 'run --local x y'])('%s is given no advice on secrets', async (args) => {
    expect((await cli(args)).stderr).not.toContain('secret');
  });
});

it.each([
  ['status Other', { npm_config_stack: 'true' }, 'status --stack'],
  ['dead-letters redrive main', { npm_config_dry_run: 'true' }, 'dead-letters --dry-run'],
  ['demo 200', { npm_config_changes: 'true' }, 'demo --changes'],
])('%s is refused when npm kept an option for itself', async (args, kept, given) => {
  const ended = await cli(args, { env: { npm_lifecycle_event: 'bridge', ...kept } });

  expect(ended).toMatchObject({ exitCode: 2, stdout: '' });
  expect(ended.stderr).toMatch(/^advert-bridge: npm took --[a-z-]+ for itself\. Put -- before/);
  expect(ended.stderr).toContain(`\`advert-bridge ${given} …\``);
});

it.each([
  ['npx', { npm_config_json: 'true' }],
  ['bridge', { npm_config_yes: 'true', NPM_CONFIG_JSON: 'true' }],
])('what is npm’s own is no reason to refuse a command of %s', async (npm_lifecycle_event, set) => {
  const ended = await cli('disconnect main --local no-such-folder', { env: { npm_lifecycle_event, ...set } });

  expect(ended.stderr).toContain('there is no bridge');
});

describe('a secret given as an argument is not repeated', () => {
  it.each([
    'application --client-secret=hunter2 --client-id a',
    'application --client-secret hunter2',
    'application --client-secret-stdin=hunter2',
    'application --client-id a --client-secret-stdin hunter2',
    'connect main hunter2 --refresh-token-stdin',
    'connect main --refresh-token=hunter2',
    'connect main --hunter2',
    'connect hunter2!!',
    '--client-secret=hunter2 application',
    'hunter2',
    'run --local x --webhook http://hunter2.example',
  ])('%s', async (args) => {
    const { exitCode, stdout, stderr } = await cli(args);

    expect(exitCode).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).not.toContain('hunter');
  });
});

it('wrong usage makes no folder', async () => {
  const folder = path.join(newFolder(), 'state');

  await cli(['application', '--local', folder, '--client-id', 'a', '--client-secret-stdin'], { stdin: 'x' });
  await cli(['application', '--local', folder, '--client-id', 'a', '--base-url', 'https://partner.example']);
  await cli(['status', '--local', folder]);

  expect(existsSync(folder)).toBe(false);
});

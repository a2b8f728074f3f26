import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { cli, newFolder } from './run-cli.ts';

const deadLetters = ['list', 'show', 'redrive', 'drop'].map((name) => `dead-letters ${name}`);
const commands = [
  ...['application', 'connect', 'run', 'webhook', 'disconnect', 'backfill', 'resync', 'audit', 'snapshot'],
  ...['pause', 'resume', 'poll', 'status', 'doctor', 'history', 'tail', 'sandbox', 'demo', ...deadLetters],
];

describe('help', () => {
  it('of the program names every command, with examples', async () => {
    const { exitCode, stdout, stderr } = await cli('--help');

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    for (const command of commands) expect(stdout).toContain(`\n  ${command.split(' ')[0]} `);
    expect(stdout).toContain('Examples');
  });

  it.each(commands)('of %s has an example and fits on one screen', async (command) => {
    const { exitCode, stdout } = await cli([...command.split(' '), '--help']);

    expect(exitCode).toBe(0);
    expect(stdout).toContain(`\n  advert-bridge ${command}`);
    expect(stdout.trimEnd().split('\n').length).toBeLessThanOrEqual(40);
  });

  it('is shown as an error where no command is given', async () => {
    expect(await cli([])).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringMatching(/^Usage: advert-bridge/),
    });
  });

  it('gives the version', async () => {
    expect(await cli('--version')).toEqual({
      exitCode: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
      stderr: '',
    });
  });
});

describe('wrong usage ends with 2 and one message', () => {
  const cases: readonly (readonly [args: string, message: string])[] = [
    ['frobnicate', 'unknown command frobnicate'],
    ['statsu', 'Did you mean status?'],
    ['run --pol-seconds 3', 'did you mean --poll-seconds?'],
    ['status --frobnicate', 'unknown option --frobnicate'],
    ['--local x status', '--local stands after the command'],
    ['status --local', "option '--local <DIR>' argument missing"],
    ['status --json=yes', '--json takes no value'],
    ['status --local x --stack Y', 'cannot be used with'],
    ['status --stack not_a_name', '--stack: expected the name of a CloudFormation stack'],
    ['connect --refresh-token-stdin', 'NAME is missing'],
    ['connect ../x --local x --refresh-token-stdin', 'NAME: expected 1 to 64 letters, digits'],
    [
      'connect main --local x --refresh-token-stdin --refresh-token-file y',
      '--refresh-token-stdin (on standard input) or --refresh-token-file FILE',
    ],
    ['connect main --local x --refresh-token-stdin --paste', '--paste is for connecting with a browser'],
    ['connect main --local x --port 65536', '--port: expected a whole number from 0 to 65535'],
    ['connect main --local x --paste --port 0', '--port: with --paste nothing listens'],
    ['connect main --local x --timeout-seconds 0', '--timeout-seconds: expected a whole number from 1'],
    ['connect main --local x --redirect-uri example', '--redirect-uri: expected a URL that is registered'],
    ['connect main --local x --redirect-uri http://example.org/a', '--redirect-uri: expected https'],
    ['connect main --local x --redirect-uri https://example.org/a', 'add --paste'],
    ['connect main --local x --redirect-uri http://localhost:8765/a', '127.0.0.1 or [::1]'],
    ['connect main --local x --redirect-uri http://127.0.0.1:80/a#b', 'expected a URL without "#"'],
    ['connect main --local x --redirect-uri http://127.0.0.1:80/a?b=1&&c=2', 'twice in a row'],
    ['connect main --local x --redirect-uri http://127.0.0.1:80/a?state=1', 'without the parameter state'],
    ['connect main --local x --redirect-uri http://u@127.0.0.1:80/a', 'without a user name'],
    [
      'connect main --local x --refresh-token-stdin --since yesterday',
      '--since: expected a time with its zone',
    ],
    ['connect main --local x --refresh-token-stdin --since 2026-02-30T00:00:00Z', '--since: expected'],
    ['connect main --required-scope v2 --refresh-token-stdin', 'requiredScope is a setting of the stack'],
    ['disconnect', 'NAME is missing'],
    ['disconnect main --forget --local x', 'add --yes'],
    ['run', '--local DIR is needed'],
    ['application --local x --client-id a --client-secret-stdin', '--base-url: expected the https URL'],
    ['application --client-id a --client-secret-stdin --base-url https://a.b', 'partnerBaseUrl'],
    [
      'application --local x --client-id a --client-secret-stdin --base-url http://partner.example',
      '--base-url: expected an https URL such as https://partner.example (plain http only for loopback)',
    ],
    ['sandbox --port 70000', '--port: expected a whole number from 0 to 65535'],
  ];

  it.each(cases)('%s', async (args, message) => {
    const ended = await cli(args);

    expect(ended).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining(message) });
    expect(ended.stderr).toMatch(/^advert-bridge: /);
    expect(ended.stderr).not.toMatch(/\n\s+at /);
  });

  it('shows every wrong setting at once', async () => {
    const { exitCode, stderr } = await cli(
      'run --local x --poll-seconds 0 --max-requests-per-second fast --circuit-seconds= --max-pause-seconds 0 --concurrency 1001 ' +
        '--advert-tries 0 --webhook http://partner.example --accept-language !! --overlap-seconds 9',
    );

    expect(exitCode).toBe(2);
    expect(stderr).toContain('9 options are wrong');
    expect(stderr).toContain('--poll-seconds: expected whole seconds from 1 to 60');
    expect(stderr).toContain('--max-requests-per-second: expected requests a second from 0.1 to 100000');
    expect(stderr).toContain('--circuit-seconds: expected');
    expect(stderr).toContain('--max-pause-seconds: expected whole seconds from 1 to 86400');
    expect(stderr).toContain('--concurrency: expected a whole number from 1 to 1000');
    expect(stderr).toContain('--advert-tries: expected');
    expect(stderr).toContain('--webhook: expected an https URL');
    expect(stderr).toContain('--accept-language: expected a language');
    expect(stderr).toContain('--overlap-seconds: expected');
  });
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

  it('and the message says how to give it', async () => {
    const { stderr } = await cli('application --client-secret=hunter2');

    expect(stderr).toContain(
      'on standard input or in a file (--client-secret-stdin or --client-secret-file <FILE>)',
    );
  });
});

it('makes no folder when anything about the command is wrong', async () => {
  const folder = path.join(newFolder(), 'state');

  await cli(['application', '--local', folder, '--client-id', 'a', '--client-secret-stdin'], { stdin: 'x' });
  await cli(['application', '--local', folder, '--client-id', 'a', '--base-url', 'https://partner.example']);
  await cli(['status', '--local', folder]);

  expect(existsSync(folder)).toBe(false);
});

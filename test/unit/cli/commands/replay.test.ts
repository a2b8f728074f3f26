import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import {
  CancelReplayCommand,
  DescribeReplayCommand,
  EventBridgeClient,
  ListArchivesCommand,
  ListRulesCommand,
  StartReplayCommand,
} from '@aws-sdk/client-eventbridge';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { outputs } from '../../../../shared/contract/names.ts';
import { mockClient } from '../../../helpers/aws/mock-client.ts';
import { describedStack } from '../../../helpers/aws/stack-outputs.ts';
import { cli } from '../run-cli.ts';

const arn = (rest: string) => `arn:aws:events:eu-central-1:111122223333:${rest}`;
const cloudFormation = mockClient(CloudFormationClient);
const eventBridge = mockClient(EventBridgeClient);
const hourMs = 3_600_000;
const ago = (hours: number) => new Date(Date.now() - hours * hourMs).toISOString();
const archive = {
  ArchiveName: 'kept',
  RetentionDays: 90,
  CreationTime: new Date(Date.now() - 1000 * hourMs),
};

beforeEach(() => {
  cloudFormation.reset();
  eventBridge.reset();
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  cloudFormation
    .on(DescribeStacksCommand)
    .resolves({ Stacks: [describedStack({ [outputs.eventBusArn]: arn('event-bus/adverts') })] });
  eventBridge.on(ListArchivesCommand).resolves({ Archives: [archive] });
  // Two pages: the rule meant is on the second.
  eventBridge
    .on(ListRulesCommand)
    .resolves({ Rules: [{ Name: 'OnAdvertChange', Arn: arn('rule/adverts/OnAdvertChange') }] })
    .on(ListRulesCommand, { NextToken: undefined })
    .resolves({
      Rules: [
        { Name: 'Events-Archive-kept', ManagedBy: 'prod.vhs.events.aws.internal' },
        { Name: 'Off', State: 'DISABLED', Arn: arn('rule/adverts/Off') },
      ],
      NextToken: 'more',
    });
  eventBridge.on(StartReplayCommand).resolves({ State: 'STARTING' });
});
afterAll(() => {
  cloudFormation.restore();
  eventBridge.restore();
});

const describes = (State: string, more: object = {}) =>
  eventBridge.on(DescribeReplayCommand).resolves({ State: State as never, ...more });
const started = () => eventBridge.commandCalls(StartReplayCommand).map(({ args: [{ input }] }) => input);

describe('replay', () => {
  it('sends the archive of the bus to the targets of one rule', async () => {
    const at = new Date(Date.now() - 1.5 * hourMs);
    describes('COMPLETED', { EventLastReplayedTime: at });
    const [from, to] = [ago(2), ago(1)];

    const ended = await cli(`replay --from ${from} --to ${to} --rule OnAdvertChange`);

    expect(ended).toMatchObject({ exitCode: 0, stdout: '' });
    expect(ended.stderr).toMatch(
      new RegExp(
        `^Replayed, up to the event of ${at.toISOString()} \\(advert-bridge-\\d{17}-[0-9a-f]{6}\\)\\.\n$`,
      ),
    );
    expect(started()).toEqual([
      {
        ReplayName: expect.stringMatching(/^advert-bridge-/),
        Description: 'advert-bridge replay',
        EventSourceArn: arn('archive/kept'),
        EventStartTime: new Date(from),
        EventEndTime: new Date(to),
        Destination: { Arn: arn('event-bus/adverts'), FilterArns: [arn('rule/adverts/OnAdvertChange')] },
      },
    ]);
  });

  it('takes the ARN of a rule of another AWS account, and all rules only when told so', async () => {
    describes('COMPLETED');
    const theirs = 'arn:aws:events:eu-central-1:444455556666:rule/adverts/Theirs';

    await cli(`replay --from ${ago(2)} --to ${ago(1)} --rule ${theirs}`);
    await cli(`replay --from ${ago(2)} --to ${ago(1)} --every-rule`);

    expect(started().map(({ Destination }) => Destination?.FilterArns)).toEqual([[theirs], undefined]);
  });

  it('warns when the archive does not go back so far', async () => {
    describes('COMPLETED');

    const { stderr } = await cli(`replay --from ${ago(24 * 100)} --to ${ago(1)} --rule OnAdvertChange`);

    expect(stderr).toContain('Warning: the archive keeps events for 90 days: those before');
  });

  it('tells why a replay failed', async () => {
    describes('FAILED', { StateReason: 'no permission' });

    const ended = await cli(`replay --from ${ago(2)} --to ${ago(1)} --rule OnAdvertChange`);

    expect(ended).toMatchObject({ exitCode: 1, stdout: '' });
    expect(ended.stderr).toContain('ended early (failed: no permission)');
  });

  it('leaves it running when it is asked to stop, and cancels it by its name', async () => {
    describes('RUNNING');

    const ended = await cli(`replay --from ${ago(2)} --to ${ago(1)} --rule OnAdvertChange`, {
      signal: AbortSignal.abort(),
    });
    const cancelled = await cli('replay --cancel advert-bridge-1');

    expect(ended.exitCode).toBe(3);
    expect(ended.stderr).toMatch(
      /The replay goes on. To end it: `advert-bridge replay --cancel advert-bridge-/,
    );
    expect(cancelled).toMatchObject({ exitCode: 0, stderr: 'Replay advert-bridge-1 is being cancelled.\n' });
    expect(eventBridge.commandCalls(CancelReplayCommand)).toHaveLength(1);
  });

  it.each([
    [
      '--from 2026-11-19T00:00:00Z --to 2026-11-20T00:00:00Z',
      2,
      'either --rule NAME, the rule of the one subscriber',
    ],
    [`--from ${ago(1)} --to ${ago(2)} --rule OnAdvertChange`, 2, '--to must be later than --from'],
    [`--from ${ago(1)} --to ${ago(-2)} --rule OnAdvertChange`, 2, 'is in the future'],
    ['--rule OnAdvertChange', 2, '--from: expected a time with its zone'],
    [`--from ${ago(2)} --to ${ago(1)} --rule Off`, 1, 'rule Off is disabled'],
    [`--from ${ago(2)} --to ${ago(1)} --rule Nobodys`, 1, 'Its rules: Off, OnAdvertChange.'],
    ['--local state', 2, 'an embedded bridge has no archive'],
    [`--from ${ago(2)} --to ${ago(1)} --rule OnAdvertChange --archive other`, 1, 'Its archives: kept'],
  ])('refuses %s', async (args, exitCode, expected) => {
    const ended = await cli(`replay ${args}`);

    expect(ended).toMatchObject({ exitCode, stdout: '', stderr: expect.stringContaining(expected) });
    expect(started()).toEqual([]);
  });

  it('says that there is no archive', async () => {
    eventBridge.on(ListArchivesCommand).resolves({ Archives: [] });

    const ended = await cli(`replay --from ${ago(2)} --to ${ago(1)} --rule OnAdvertChange`);

    expect(ended).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('has no archive, so there is nothing to replay'),
    });
  });
});

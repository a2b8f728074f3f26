/**
 * What the deployed bridge writes, sends and publishes for adverts, byte for byte, as it was before there was a second feed.
 * A difference means that rows, messages or events of bridges in use change: where that is meant, write the file anew with
 * `-u`.
 */
import { expect, it, vi } from 'vitest';
import { startAws } from '../../helpers/aws/played-aws.ts';

const clock = await vi.hoisted(async () => {
  const { createSleptClock } = await import('../../helpers/aws/slept-clock.ts');
  return createSleptClock();
});
vi.mock('../../../shared/domain/clock.ts', async (original) => ({
  ...(await original<object>()),
  systemClock: clock,
}));

async function start(onCall: (operation: string, body: string) => void) {
  vi.resetModules();
  const aws = await startAws({
    onCall,
    setEnvironment: (variables) => {
      for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
    },
  });
  return { ...aws, [Symbol.asyncDispose]: aws.stop };
}

/** Of adverts, not of tokens or the rate budget. */
const isKept = (line: string): boolean =>
  /^dynamodb (Put|Update|Delete)Item .*"pk":\{"S":"(?!account|bridge)/.test(line) ||
  /^(dynamodb BatchGetItem|events PutEvents|sqs SendMessageBatch) /.test(line);

/** Without what differs from run to run. */
const steady = (line: string): string =>
  line
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>')
    .replace(/"(TableName|QueueUrl)":"[^"]*"/g, '"$1":"…"')
    .replace(/"(etag|:etag|:expected)":\{"S":"[^"]*"\}/g, '"$1":{"S":"…"}')
    .replace(/"by:[0-9a-f]{8}"/g, '"by:…"')
    .replace(/\\"cursor\\":\\"[^"]*"/g, '\\"cursor\\":\\"…\\"')
    .replace(/"[0-9a-f]{64}"/g, '"<hash>"')
    .replace(/\b\d{20}\b/g, '<position>')
    .replace(/\b\d{13}(\.\d+)?\b/g, '<ms>')
    .replace(/\b\d{10}\b/g, '<seconds>');

it('keys, rows, messages and events of adverts are what they were', async () => {
  const lines: string[] = [];
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, 'write').mockReturnValue(true);
  await using aws = await start((operation, body) => lines.push(`${operation} ${body}`));
  const { control } = aws.sandbox;
  const found: string[] = [];
  const step = async (name: string, work: () => Promise<unknown>) => {
    lines.length = 0;
    await work();
    // What is asked side by side comes in any order.
    found.push(`-- ${name}`, ...lines.filter(isKept).map(steady).sort());
  };
  const minute = async () => {
    clock.pass(60_000);
    await step('drain', () => aws.invoke('drain'));
    await step('fan-out', () => aws.fanOut());
  };

  const [first = '', second = ''] = control.createAdverts(2, { status: 'new' });
  control.listRaw('no advert');
  await minute();
  control.setStatus(first, 'active');
  control.remove(second);
  await minute();

  await expect(`${found.join('\n')}\n`).toMatchFileSnapshot('on-aws.txt');
}, 120_000);

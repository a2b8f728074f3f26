import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ListRulesCommand } from '@aws-sdk/client-eventbridge';
import { ListQueuesCommand, TagQueueCommand } from '@aws-sdk/client-sqs';
import { repository } from '../emulator/cloud.ts';
import type { Deployment } from '../stack/deployment.ts';
import type { Around } from './console.ts';
import { deliver } from './delivery.ts';

const tailPrefix = 'advert-bridge-tail-';
/** A tail needs a dozen calls of the emulator to start or end. */
const patienceMs = 60_000;

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + patienceMs; Date.now() < end; await sleep(200)) if (await holds()) return;
  assert.fail(`in ${patienceMs / 1000} s: ${what}`);
}

/** Explains why an event came or did not come. */
export async function historySteps({ steps, advertBridge, sandbox, say }: Deployment): Promise<void> {
  const [first = ''] = sandbox.control.truth().map(({ id }) => id);
  const ask = async (...more: string[]) =>
    (await advertBridge.run(['history', 'main', first, ...more])).stdout;

  await steps.check('history tells by which page an advert was listed, and what became of it', async () => {
    say((await ask()).trim());
    const { latest, latestPublished, outcome, facts } = JSON.parse(await ask('--json'));
    assert.equal(outcome, 'published');
    assert.equal(latestPublished, true);
    const page = latest.detail.metadata.correlationId;
    assert.ok(facts.some(({ says }: { says: string }) => says.includes(page)));
  });

  await steps.check('history says that the feed has not named an advert', async () => {
    const { stdout } = await advertBridge.run(['history', 'main', '99999999', '--json']);
    assert.equal(JSON.parse(stdout).outcome, 'not-listed');
  });
}

/** Shows events as they are published, and leaves nothing behind. */
export async function tailSteps(deployment: Deployment, { env, processes, folder }: Around): Promise<void> {
  const { steps, sandbox, cloud, outputs } = deployment;
  const { control } = sandbox;
  // An advert whose complete history no later step expects.
  const id = control.truth()[3]?.id ?? '';
  let tails = 0;

  async function startTail() {
    tails += 1;
    const logFile = join(folder, `tail-${tails}.log`);
    const args = [join(repository, 'cli', 'main.ts'), 'tail', 'main'];
    const started = processes.start({ file: process.execPath, args, env, cwd: repository }, logFile);
    const text = () => readFile(logFile, 'utf8');
    await until('the tail says that it watches', async () => (await text()).includes('from now on'));
    return { ...started, text };
  }
  type Tail = Awaited<ReturnType<typeof startTail>>;

  async function end({ pid, exit }: Tail, signal: 'SIGINT' | 'SIGKILL') {
    process.kill(pid, signal);
    await until('the tail has ended', () => exit() !== undefined);
    return exit();
  }
  const queues = async () =>
    (await cloud.sqs.send(new ListQueuesCommand({ QueueNamePrefix: tailPrefix }))).QueueUrls ?? [];
  const rules = async () => {
    const EventBusName = outputs.eventBusName;
    const { Rules = [] } = await cloud.eventBridge.send(
      new ListRulesCommand({ EventBusName, NamePrefix: tailPrefix }),
    );
    return Rules;
  };

  await steps.check('tail shows an event as it is published, and leaves nothing behind', async () => {
    const tail = await startTail();
    control.setStatus(id, 'tailed');
    await deliver(deployment, 1);
    await until('the tail shows the event', async () => (await tail.text()).includes('"status":"tailed"'));
    assert.equal(await end(tail, 'SIGINT'), 'it ended with exit code 0');
    assert.deepEqual([await queues(), await rules()], [[], []]);
  });

  await steps.check('the next tail removes what a killed one has left', async () => {
    await end(await startTail(), 'SIGKILL');
    const [left = ''] = await queues();
    assert.equal((await rules()).length, 1);
    // As if ten minutes had passed.
    const Tags = { 'advert-bridge:tail-alive-at': '2020-01-01T00:00:00.000Z' };
    await cloud.sqs.send(new TagQueueCommand({ QueueUrl: left, Tags }));
    assert.equal(await end(await startTail(), 'SIGINT'), 'it ended with exit code 0');
    assert.deepEqual([await queues(), await rules()], [[], []]);
  });
}

import { setTimeout as sleep } from 'node:timers/promises';
import { UpdateEventSourceMappingCommand } from '@aws-sdk/client-lambda';
import { type Message, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import type { Fault } from '../../../sandbox/state/faults.ts';
import { strike } from './deaths.ts';
import { handledMessages, overlapped } from './handled.ts';
import { endLeases, type Scene, timeoutSeconds, visibilitySeconds } from './scene.ts';
import { type Answer, ask, asksService, pollsOf, refreshRequest, stir } from './stir.ts';
import { send } from './workers.ts';

/** Makes the service slow for the next requests, so that two workers run concurrently. */
const slow = (endpoint: 'feed' | 'token'): Fault => ({ endpoint, kind: 'delay', delayMs: 500, count: 3 });

async function withFault<T>({ deployment }: Scene, fault: Fault, work: () => Promise<T>): Promise<T> {
  const { faults } = deployment.sandbox.control;
  const id = faults.add(fault);
  try {
    return await work();
  } finally {
    faults.remove(id);
  }
}

/**
 * Gives the fan-out the same batch twice at once, in the form of the event source mapping, and deletes nothing, so
 * that the queue delivers it a third time.
 *
 * @returns whether both invocations handled the same messages
 */
export async function deliverTwice(scene: Scene): Promise<boolean> {
  await enableMappings(scene, false);
  let messages: Message[];
  try {
    await (await stir(scene, 'drain')).answer;
    const { Messages = [] } = await scene.deployment.cloud.sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: scene.queueUrl,
        MaxNumberOfMessages: 10,
        WaitTimeSeconds: 1,
        VisibilityTimeout: visibilitySeconds,
        MessageSystemAttributeNames: ['All'],
      }),
    );
    messages = Messages;
  } finally {
    await enableMappings(scene, true);
  }
  const event = { Records: messages.map(recordOf) };
  scene.givenAgain.push(...messages.map(({ Body = '{}' }) => JSON.parse(Body).partnerAccount));
  const answers = await Promise.all([ask(scene, 'fanOut', event), ask(scene, 'fanOut', event)]);
  return messages.length > 0 && answers.every((answer) => 'answer' in answer);
}

async function enableMappings({ deployment, mappings }: Scene, Enabled: boolean): Promise<void> {
  for (const UUID of mappings) {
    await deployment.cloud.lambda.send(new UpdateEventSourceMappingCommand({ UUID, Enabled }));
  }
}

const recordOf = ({ MessageId, ReceiptHandle, Body, Attributes }: Message) => ({
  messageId: MessageId,
  receiptHandle: ReceiptHandle,
  body: Body,
  attributes: Attributes,
});

/** How long to wait for a frozen fan-out: less than the rest of its timeout. */
const maxFrozenMs = (timeoutSeconds - 1.5) * 1000;

/**
 * Freezes a fan-out until its messages are visible again and another worker has handled them, then lets it continue.
 *
 * @returns whether it continued with messages that another worker had handled in the meantime
 */
export async function outliveVisibility(scene: Scene): Promise<boolean> {
  const { endpoint } = scene.deployment.cloud;
  const struck = await strike(scene, 'fanOut', 'SIGSTOP');
  if (!struck) return false;
  const { at, pids, answer } = struck;
  const redelivered = async () =>
    (await handledMessages(endpoint)).some((handled) => handled.at > at && handled.receives > 1);
  await sleep(visibilitySeconds * 1000);
  while (Date.now() < at + maxFrozenMs && !(await redelivered())) await sleep(200);
  for (const pid of pids) send(pid, 'SIGCONT');
  await answer;
  // Its log lines appear when its invocation has ended.
  const until = Date.now() + 2_000;
  while (Date.now() < until) {
    if (overlapped(await handledMessages(endpoint), at)) return true;
    await sleep(200);
  }
  return false;
}

/** @returns whether one drain found a feed leased by the other */
export async function drainTwice(scene: Scene): Promise<boolean> {
  const answers = await withFault(scene, slow('feed'), async () => {
    const first = await stir(scene, 'drain');
    return Promise.all([first.answer, ask(scene, 'drain')]);
  });
  return answers.some((answer) => endsOf(answer).includes('held'));
}

/** Freezes a drain until its lease has expired and another has read the feeds, then lets it continue. */
export async function outliveLease(scene: Scene): Promise<boolean> {
  return withFault(scene, slow('feed'), async () => {
    const struck = await strike(scene, 'drain', 'SIGSTOP');
    if (!struck) return false;
    await endLeases(scene);
    await ask(scene, 'drain');
    for (const pid of struck.pids) send(pid, 'SIGCONT');
    return endsOf(await struck.answer).includes('lease-lost');
  });
}

/** @returns whether one refreshed while the other was waiting for the service's tokens */
export async function refreshTwice(scene: Scene): Promise<boolean> {
  return withFault(scene, slow('token'), async () => {
    const { journal } = scene.deployment.sandbox.control;
    const account = scene.accounts[Math.floor(scene.random() * scene.accounts.length)] ?? '';
    const request = await refreshRequest(scene, account);
    const from = journal.nextIndex;
    const first = ask(scene, 'refreshToken', request);
    if (!(await asksService(scene, 'refreshToken', from))) return false;
    const [one, other] = await Promise.all([first, ask(scene, 'refreshToken', request)]);
    return kindOf(one) === 'renewed' && kindOf(other) === 'busy';
  });
}

const endsOf = (answer: Answer): string[] => pollsOf(answer).map(({ end }) => end);

function kindOf(answer: Answer): string | undefined {
  return 'answer' in answer ? (answer.answer as { kind?: string }).kind : undefined;
}

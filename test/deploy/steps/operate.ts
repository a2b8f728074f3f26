import assert from 'node:assert/strict';
import { ListRulesCommand } from '@aws-sdk/client-eventbridge';
import { ListQueuesCommand, SetQueueAttributesCommand, TagQueueCommand } from '@aws-sdk/client-sqs';
import type { Snapshot } from '../../../operators/console/snapshot.ts';
import { until } from '../../helpers/until.ts';
import { type Deployment, deliver } from '../stack/deployment.ts';
import { historiesOf } from '../stack/histories.ts';

/** What doctor finds wrong: the drill. */
export async function doctorSteps({ steps, cloud, outputs, advertBridge }: Deployment): Promise<void> {
  const setVisibility = (VisibilityTimeout: string) =>
    cloud.sqs.send(
      new SetQueueAttributesCommand({ QueueUrl: outputs.queueUrl, Attributes: { VisibilityTimeout } }),
    );
  await steps.check('doctor finds nothing wrong with a fresh deployment', async () => {
    // The stack's own value, which the journey has shortened.
    await setVisibility('600');
    const { checks } = await advertBridge.json('doctor');
    await setVisibility('20');
    // Real findings: no `alarmEmail` was given, and the emulator has no policy of a bus (infra/emulator.ts).
    const expected = ['alarm-subscribers', 'bus-policy'];
    const wrong = checks.filter(
      ({ name = '', result = '' }: Record<string, string>) =>
        !['ok', 'skipped'].includes(result) && !expected.includes(name),
    );
    assert.deepEqual(wrong, []);
    assert.ok(checks.length > 20);
  });
}

/** Shows events as they are published, and leaves nothing behind. */
export async function tailSteps(deployment: Deployment): Promise<void> {
  const { steps, sandbox, cloud, outputs, advertBridge } = deployment;
  const { control } = sandbox;
  // An advert whose complete history no later step expects.
  const id = control.truth()[3]?.id ?? '';

  async function startTail() {
    const { said, kill, ended } = await advertBridge.start(['tail', 'main'], /from now on/);
    return {
      shows: (text: string) => until(`the tail shows ${text}`, () => said().includes(text)),
      async end(signal: 'SIGINT' | 'SIGKILL') {
        kill(signal);
        return (await ended).code;
      },
    };
  }
  async function left() {
    const NamePrefix = 'advert-bridge-tail-';
    const { QueueUrls = [] } = await cloud.sqs.send(new ListQueuesCommand({ QueueNamePrefix: NamePrefix }));
    const { Rules = [] } = await cloud.eventBridge.send(
      new ListRulesCommand({ EventBusName: outputs.eventBusName, NamePrefix }),
    );
    return { queues: QueueUrls, rules: Rules.length };
  }

  await steps.check('tail shows an event as it is published, and leaves nothing behind', async () => {
    const tail = await startTail();
    control.setStatus(id, 'tailed');
    await deliver(deployment, 1);
    await tail.shows('"status":"tailed"');
    assert.equal(await tail.end('SIGINT'), 0);
    assert.deepEqual(await left(), { queues: [], rules: 0 });
  });

  await steps.check('the next tail removes what a killed one has left', async () => {
    await (await startTail()).end('SIGKILL');
    const { queues, rules } = await left();
    assert.equal(rules, 1);
    // As if ten minutes had passed.
    const Tags = { 'advert-bridge:tail-alive-at': '2020-01-01T00:00:00.000Z' };
    await cloud.sqs.send(new TagQueueCommand({ QueueUrl: queues[0], Tags }));
    assert.equal(await (await startTail()).end('SIGINT'), 0);
    assert.deepEqual(await left(), { queues: [], rules: 0 });
  });
}

/** A console of the stack, with what its page asks for. */
async function startConsole({ advertBridge }: Deployment) {
  const { printed: url, kill, ended } = await advertBridge.start(['console', '--no-open'], /^(http:\S+)$/m);
  const { origin } = new URL(url);
  const login = await fetch(url, { redirect: 'manual' });
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? '';
  const key = login.headers.get('location')?.replace('/#', '') ?? '';
  const headers = { cookie, authorization: `Bearer ${key}`, origin, 'content-type': 'application/json' };

  /** The first snapshot of a new page. */
  async function snapshot(): Promise<Snapshot> {
    const { body } = await fetch(`${origin}/stream`, { headers });
    let text = '';
    for await (const part of body ?? []) {
      text += Buffer.from(part).toString('utf8');
      const [, data] = /^event: snapshot\ndata: (.*)\n\n/m.exec(text) ?? [];
      if (data) return JSON.parse(data);
    }
    return assert.fail('the stream ended without a snapshot');
  }

  return {
    shows: (what: string, holds: (one: Snapshot) => boolean) =>
      until(what, async () => holds(await snapshot())),
    async deadLettersOf(filter: string): Promise<readonly string[]> {
      const found = await fetch(`${origin}/dead-letters?${new URLSearchParams({ filter })}`, { headers });
      return ((await found.json()) as { ids: readonly string[] }).ids;
    },
    /** Waits until the action has ended. */
    async act(action: object): Promise<void> {
      const body = JSON.stringify(action);
      const accepted = await fetch(`${origin}/actions`, { method: 'POST', headers, body });
      const { id } = (await accepted.json()) as { readonly id: number };
      const ended = async () =>
        (await snapshot()).actions.find((one) => one.id === id && one.state !== 'running');
      assert.equal((await until(`the end of ${body}`, ended)).state, 'done');
    },
    async end(): Promise<void> {
      kill('SIGTERM');
      assert.equal((await ended).code, 0);
    },
  };
}

/** A dead letter on the command line and on a console. */
export async function deadLetterSteps(deployment: Deployment): Promise<void> {
  const { steps, advertBridge, sandbox, subscriber } = deployment;
  const { control } = sandbox;
  const [odd = '', other = ''] = control
    .truth()
    .slice(4, 6)
    .map(({ id }) => id);
  const statusesOf = (id: string) => historiesOf(subscriber.received).get(id);
  const deadLettersOf = async (advertId: string): Promise<Record<string, string>[]> => {
    const { deadLetters } = await advertBridge.json('dead-letters', 'list');
    return deadLetters.filter((one: Record<string, string>) => one.advertId === advertId);
  };

  await steps.check(
    'an advert that is refused is given up with its reason, and delays no other',
    async () => {
      const fault = control.faults.add({
        ...{ kind: 'status', status: 400, endpoint: 'advert', advertId: odd },
        body: { error: 'validation_error', message: 'not so' },
      });
      for (const id of [odd, other]) control.setStatus(id, 'limited');
      await deliver(deployment, 1);
      assert.deepEqual(statusesOf(other), ['limited']);
      // Twice, with another advert answered well between; the second may come from aside.
      const isGivenUp = async () => (await deadLettersOf(odd)).length > 0;
      await until('the advert is given up', isGivenUp, { withinMs: 300_000, everyMs: 2_000 });
      const [deadLetter, ...more] = await deadLettersOf(odd);
      assert.deepEqual([deadLetter?.fault, more], ['invalid-request', []]);
      assert.equal((await advertBridge.json('history', 'main', odd)).outcome, 'dead-lettered');
      control.faults.remove(fault);
    },
  );

  await steps.check('a console pauses, resumes and redrives the dead letter, whose event comes', async () => {
    const page = await startConsole(deployment);
    await page.shows('the dead letter', ({ deadLetters }) => (deadLetters.main ?? 0) > 0);
    await page.act({ action: 'pause', name: 'main', reason: 'a look' });
    await page.shows('the pause', ({ facts }) => facts?.partnerAccounts[0]?.paused?.reason === 'a look');
    await page.act({ action: 'resume', name: 'main' });
    const ids = await page.deadLettersOf(odd);
    assert.equal(ids.length, 1);
    await page.act({ action: 'redrive', ids });
    await page.end();
    await deliver(deployment, 1);
    assert.deepEqual(statusesOf(odd), ['limited']);
    assert.deepEqual(await deadLettersOf(odd), []);
  });

  await steps.check('status is content again when the last dead letter is dropped', async () => {
    const [malformed] = await deadLettersOf('../oauth/token');
    await advertBridge.run(['dead-letters', 'drop', malformed?.id ?? '', '--yes']);
    assert.equal((await advertBridge.status()).exitCode, 0);
  });
}

import assert from 'node:assert/strict';
import { errorShapes } from '../../../sandbox/state/answer.ts';
import { pick } from '../../../sandbox/state/random.ts';
import { advertsFeed } from '../../../shared/contract/messages.ts';
import { checkHistories } from '../../chaos/check-histories.ts';
import { until } from '../../helpers/until.ts';
import type { Deployment } from '../stack/deployment.ts';
import { silenceMs } from '../stack/deployment.ts';
import type { DrainReport } from '../stack/functions.ts';
import { checkedEvent } from '../stack/histories.ts';
import { answersInTurn } from './answers.ts';
import { kill, outliveLease, outliveVisibility, refreshTwice } from './deaths.ts';
import { ask, endLeases, type Scene, setScene, setTimeouts, usual } from './scene.ts';

type Play = (scene: Scene) => Promise<boolean>;

/** What is done to the functions, in turn. Each returns whether it hit an invocation in progress. */
const faults: readonly (readonly [name: string, play: Play])[] = [
  ['fan-out killed', (scene) => kill(scene, 'fanOut')],
  ['drain killed', (scene) => kill(scene, 'drain')],
  ['batch outlived its visibility', outliveVisibility],
  ['refresh-token killed', (scene) => kill(scene, 'refreshToken')],
  ['drain outlived its lease', outliveLease],
  ['refresh-token invoked twice', refreshTwice],
];

/** A signal that arrives after or before the work hits nothing, and is then tried again. */
const maxAttempts = 20;
/** Longer than the longest delay after passing faults, 5 min (`retryPolicies` in functions/fan-out/redelivery.ts). */
const maxToSettleMs = 480_000;

/** Whatever happens to the functions, nothing is lost and every history is correct. */
export async function chaosSteps(deployment: Deployment): Promise<void> {
  const { steps, say, advertBridge, options } = deployment;
  const { faults: count, changes, seed } = options;
  say(`chaos: seed ${seed}`);
  const scene = await steps.need('chaos: three partner accounts, short timeouts, two mappings', () =>
    setScene(deployment),
  );
  const { weather } = scene;
  const { deadLetters } = (await advertBridge.status()).queue;

  await steps.check(`chaos: ${count} faults in invocations, during ${changes} changes`, async () => {
    weather.faults();
    for (let index = 0; index < count; index += 1) {
      const [name, play] = faults[index % faults.length] as (typeof faults)[number];
      weather.turn();
      deployment.sandbox.control.change({ assumptions: { errorShape: pick(scene.random, errorShapes) } });
      while (weather.made() < (changes * (index + 1)) / count) weather.change();
      let attempts = 1;
      while (!(await play(scene))) {
        attempts += 1;
        assert.ok(attempts <= maxAttempts, `${name} hit nothing`);
      }
      say(`${name}, in ${attempts} attempts`);
    }
  });
  await steps.check('chaos: the service refuses everything, each few seconds otherwise', () =>
    answersInTurn(scene),
  );
  await steps.check('chaos: afterwards every feed is read to its end, nothing waits', () => settle(scene));
  await steps.check(
    'chaos: every history is right, the books balance, nothing is dead-lettered',
    async () => {
      const found = [...checkReceived(scene), ...(await checkBooks(scene)), ...(await givenUp(scene))];
      const again = `npm run test:deploy -- --only chaos --faults ${count} --changes ${changes} --seed ${seed}`;
      assert.deepEqual(found.slice(0, 5), [], `${found.length} faults; once more: ${again}`);
      assert.equal((await advertBridge.status()).queue.deadLetters, deadLetters);
    },
  );
  // What follows has more to poll than eight seconds are enough for.
  await setTimeouts(deployment, usual);
}

/** Ends the service's faults, and drains until nothing is left and nothing more reaches the subscriber. */
async function settle(scene: Scene): Promise<void> {
  const { deployment, weather, names } = scene;
  const { sandbox, subscriber } = deployment;
  weather.clear();
  sandbox.control.change({ visibilityDelayMs: 0 });
  // A scheduled drain may still be running: it loses its lease, or ends before.
  await endLeases(scene);
  const isIdle = async () => {
    const { polls = [] } = ((await ask(scene, 'drain')) ?? {}) as Partial<DrainReport>;
    const polled = polls.map(({ partnerAccount }) => partnerAccount);
    return (
      names.every((name) => polled.includes(name)) &&
      polls.every(({ end, listed }) => end === 'up-to-date' && listed === 0) &&
      (await deployment.advertBridge.status()).queue.waiting === 0
    );
  };
  await until('everything is handled', isIdle, { withinMs: maxToSettleMs, everyMs: 500 });
  let before: number;
  do {
    before = subscriber.received.length;
    await subscriber.readUntil(({ length }) => length > before, silenceMs);
  } while (subscriber.received.length > before);
}

/** Compares the contents of the subscriber's queue with the service's real state. */
function checkReceived({ deployment, names, weather }: Scene): readonly string[] {
  const { subscriber, sandbox } = deployment;
  const events = subscriber.received.map(checkedEvent);
  const own = events.filter(({ detail }) => names.includes(detail.metadata.partnerAccount));
  // Without EventBridge's own ID and time, which change with each publish.
  const lines = own.map((event) => ({ run: 0, text: JSON.stringify(event.detail), event }));
  const truth = names.flatMap((name) => sandbox.control.truth(name));
  const found = checkHistories(lines, truth, weather.touched);
  deployment.say(`${found.distinct} events of ${weather.touched.size} adverts, ${found.repeats} repeated`);
  return found.faults;
}

/** The dead letters of the accounts, with their reasons. */
async function givenUp({ deployment, names }: Scene): Promise<string[]> {
  const { deadLetters } = await deployment.advertBridge.json('dead-letters', 'list');
  return deadLetters
    .filter((one: Record<string, string>) => names.includes(one.partnerAccount ?? ''))
    .map((one: object) => `dead-lettered: ${JSON.stringify(one)}`);
}

/** Each listed ID has its outcome: docs/decisions/0004-books.md. On AWS, outcomes of repeated deliveries count, too. */
async function checkBooks({ deployment, store, names }: Scene): Promise<string[]> {
  const { partnerAccounts } = await deployment.advertBridge.status();
  const own = partnerAccounts.filter(({ name }) => names.includes(name));
  assert.equal(own.length, names.length);
  const cursors = await Promise.all(
    own.map(({ name }) => store.get({ kind: 'feed', name: `${name}/${advertsFeed.name}` })),
  );
  return own.flatMap(({ name, state, books }, index) => {
    const settled = books.events + books.unchanged + books.coalesced + books.unavailable;
    const isRight =
      settled >= books.listed && books.inFlight === 0 && books.deadLettered === 0 && state === 'polling';
    const cursor = (cursors[index]?.value as { readonly cursor?: string } | undefined)?.cursor;
    return isRight && cursor ? [] : [`${name}: ${state}, cursor ${cursor}, ${JSON.stringify(books)}`];
  });
}

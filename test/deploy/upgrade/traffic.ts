import { setTimeout as sleep } from 'node:timers/promises';
import type { Traffic } from '../chaos/scene.ts';
import { ask, pollsOf } from '../chaos/stir.ts';

const changeEveryMs = 100;
const turnEvery = 20;
const pollEveryMs = 1_000;

/** From now on, adverts change, tokens expire and feeds are polled, whatever is deployed in the meantime. */
export function startTraffic(scene: Traffic) {
  const { weather } = scene;
  let ended = false;
  const figures = { drains: 0, failures: 0 };

  async function change(): Promise<void> {
    for (let made = 1; !ended; made += 1) {
      weather.change();
      if (made % turnEvery === 0) weather.turn();
      await sleep(changeEveryMs);
    }
  }

  async function poll(): Promise<void> {
    while (!ended) {
      const answer = await ask(scene, 'drain');
      // A function that is being replaced fails; the next run follows after a minute on AWS, and after a second here.
      if ('error' in answer) figures.failures += 1;
      else if (pollsOf(answer).length > 0) figures.drains += 1;
      await sleep(pollEveryMs);
    }
  }

  const going = Promise.all([change(), poll()]);
  return {
    figures: () => ({ ...figures, changes: weather.made() }),
    /** Resolves when feeds have been polled after this call. */
    async drained(withinMs = 30_000): Promise<void> {
      const { drains } = figures;
      for (const until = Date.now() + withinMs; figures.drains < drains + 2; await sleep(50)) {
        if (Date.now() > until) throw new Error('no feed is polled');
      }
    },
    async stop(): Promise<void> {
      ended = true;
      await going;
    },
  };
}

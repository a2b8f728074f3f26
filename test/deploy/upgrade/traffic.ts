import { setTimeout as sleep } from 'node:timers/promises';
import type { Traffic } from '../chaos/scene.ts';
import { ask, pollsOf } from '../chaos/stir.ts';

const changeEveryMs = 100;
const turnEvery = 20;
const pollEveryMs = 1_000;

/** Adverts change, tokens run out and feeds are polled from now on, whatever is deployed meanwhile. */
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
      // A function that is just being replaced fails: the next run is a minute away on AWS, a second here.
      if ('error' in answer) figures.failures += 1;
      else if (pollsOf(answer).length > 0) figures.drains += 1;
      await sleep(pollEveryMs);
    }
  }

  const going = Promise.all([change(), poll()]);
  return {
    figures: () => ({ ...figures, changes: weather.made() }),
    /** Resolves when feeds have been polled since now. */
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

import { freezeUntilTimeout, kill } from './deaths.ts';
import { deliverTwice, drainTwice, outliveLease, outliveVisibility, refreshTwice } from './duplicates.ts';
import type { FaultName } from './plan.ts';
import type { Scene } from './scene.ts';

const play: Readonly<Record<FaultName, (scene: Scene) => Promise<boolean>>> = {
  'fan-out killed': (scene) => kill(scene, 'fanOut'),
  'drain killed': (scene) => kill(scene, 'drain'),
  'refresh-token killed': (scene) => kill(scene, 'refreshToken'),
  'fan-out timed out': (scene) => freezeUntilTimeout(scene, 'fanOut'),
  'drain timed out': (scene) => freezeUntilTimeout(scene, 'drain'),
  'refresh-token timed out': (scene) => freezeUntilTimeout(scene, 'refreshToken'),
  'batch delivered twice': deliverTwice,
  'batch outlived its visibility': outliveVisibility,
  'drain invoked twice': drainTwice,
  'drain outlived its lease': outliveLease,
  'refresh-token invoked twice': refreshTwice,
};

/** A signal that arrives after or before the work hits nothing, and is then tried again. */
const maxAttempts = 20;

export interface Raging {
  /** The faults that really hit an invocation. */
  readonly hits: readonly FaultName[];
  /** All attempts, including the hits. */
  readonly attempts: readonly FaultName[];
}

/** Executes the plan while adverts change, with changes spread evenly. */
export async function rage(scene: Scene, plan: readonly FaultName[], changes: number): Promise<Raging> {
  const { weather, deployment } = scene;
  const begun = Date.now();
  const hits: FaultName[] = [];
  const attempts: FaultName[] = [];
  weather.faults();
  for (const [index, name] of plan.entries()) {
    weather.turn();
    const due = Math.floor((changes * (index + 1)) / plan.length);
    while (weather.made() < due) weather.change();
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      attempts.push(name);
      if (!(await play[name](scene))) continue;
      hits.push(name);
      break;
    }
    if ((index + 1) % 10 === 0 && index + 1 < plan.length) {
      const seconds = ((Date.now() - begun) / 1000).toFixed(0);
      deployment.say(`${hits.length} hits after ${attempts.length} attempts and ${seconds} s`);
    }
  }
  while (weather.made() < changes) weather.change();
  return { hits, attempts };
}

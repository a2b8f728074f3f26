import { inspect } from 'node:util';
import type { Observer } from '../../../shared/ports/observer.ts';
import { secretMark } from '../model/token-desk.ts';
import type { Process } from './process.ts';
import type { SimWorld } from './sim-world.ts';

/** Searching everything that was logged takes as long as the rest of the run, so only some runs do it. */
const everyNth = 8;

/** Receives a process's log, and searches it for secrets (`credentials-kept`). */
export function createWatchedObserver(world: SimWorld, process: Process): Observer {
  const { plan, history } = world;
  const isWatched = plan.seed % everyNth === 0;
  const at = (level: string) => (message: string, fields?: object) => {
    process.trace(() => `${level}: ${message} ${inOneLine(fields)}`);
    if (!isWatched || !inspect([message, fields], { depth: 8 }).includes(secretMark)) return;
    history.violated({ invariant: 'credentials-kept', message: `${process.name} logs a secret: ${message}` });
  };
  return { info: at('info'), warn: at('warn'), error: at('error'), count: () => undefined };
}

/** Without stack traces, which differ between runs of the simulation. */
const inOneLine = (fields: object | undefined): string =>
  inspect(fields, { breakLength: Infinity, compact: true, depth: 1 })
    .replaceAll(/\n\s+at [^\n]*/g, '')
    .replaceAll(/\s*\n\s*/g, ' ');

import { inspect } from 'node:util';
import type { Observer } from '../../../shared/ports/observer.ts';
import { secretMark } from '../model/token-desk.ts';
import type { Process } from './process.ts';
import type { SimWorld } from './sim-world.ts';

/** Looking through everything said takes as long as the rest of the run: so not in every one. */
const everyNth = 8;

/** Takes what a process logs, and finds secrets in it (`credentials-kept`). */
export function createWatchedObserver(world: SimWorld, process: Process): Observer {
  const { plan, history, isLogKept, logged } = world;
  const isWatched = plan.seed % everyNth === 0;
  const at = (level: string) => (message: string, fields?: object) => {
    if (isLogKept)
      logged.push({
        atMs: process.clock.now(),
        from: process.name.startsWith('worker') ? 'fan-out' : 'drain',
        text: JSON.stringify({ level, message, ...fields }),
      });
    process.trace(() => `${level}: ${message} ${inOneLine(fields)}`);
    if (!isWatched || !inspect([message, fields], { depth: 8 }).includes(secretMark)) return;
    history.violated({ invariant: 'credentials-kept', message: `${process.name} logs a secret: ${message}` });
  };
  return { info: at('info'), warn: at('warn'), error: at('error'), count: () => undefined };
}

/** Without the places in the code, which differ from one call of the simulation to the other. */
const inOneLine = (fields: object | undefined): string =>
  inspect(fields, { breakLength: Infinity, compact: true, depth: 1 })
    .replaceAll(/\n\s+at [^\n]*/g, '')
    .replaceAll(/\s*\n\s*/g, ' ');

/** Checks the checker: each rule of the protocols is left out once, and the simulation must notice it. */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Planted, plantedInPipeline } from './pipeline.ts';
import { plantedInService } from './service.ts';

const root = path.join(import.meta.dirname, '../../..');

const changes = [plantedInPipeline, plantedInService].flatMap((planted: Planted) =>
  Object.entries(planted).flatMap(([file, rows]) =>
    rows.map(([name, , from, to]) => ({ name, file, from, to })),
  ),
);

/**
 * Rules that are left out on purpose. In the source, a comment above the changed line names the fault (`// Rule: <name>`):
 * whoever changes that line must adapt the fault.
 */
export const plantedFaults = [...Map.groupBy(changes, ({ name }) => name)].map(([name, places]) => ({
  ...{ name, places },
  /** The changed sources, by the addresses of their modules. @throws if a source no longer has the text */
  sources(): ReadonlyMap<string, string> {
    const sources = new Map<string, string>();
    for (const { file, from, to } of places) {
      const { href } = pathToFileURL(path.join(root, file));
      const parts = (sources.get(href) ?? readFileSync(path.join(root, file), 'utf8')).split(from);
      if (parts.length !== 2)
        throw new Error(`${file}: expected once, found ${parts.length - 1} times: ${from}`);
      sources.set(href, parts.join(to));
    }
    return sources;
  },
}));

export type PlantedFault = (typeof plantedFaults)[number];

/** From now on, this process imports the sources without the rule. */
export function plant(fault: PlantedFault): void {
  const sources = fault.sources();
  registerHooks({
    load(url, context, nextLoad) {
      const source = sources.get(url);
      return source === undefined
        ? nextLoad(url, context)
        : { format: 'module-typescript', source, shortCircuit: true };
    },
  });
}

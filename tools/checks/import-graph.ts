/** Which file of the repository imports which, and the resulting dependencies between folders. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const rooms = [
  'shared',
  'functions',
  'embedded',
  'operators',
  'infra',
  'kits',
  'sandbox',
  'tools',
  'test',
  'docs/examples',
];

/** The imports of each file: paths relative to the repository root; packages by the name in the import. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

const importPattern =
  /^(?:import|export)\b[^'";]*?\bfrom '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm;

export function readImportGraph(): ImportGraph {
  const files = globSync(
    rooms.map((room) => `${room}/**/*.ts`),
    { exclude: ['**/node_modules/**', '**/cdk.out/**'] },
  ).sort();
  return new Map(files.map((file) => [file, importsOf(file)]));
}

function importsOf(file: string): string[] {
  const targets = [...readFileSync(file, 'utf8').matchAll(importPattern)].map(
    ([, named, bare, dynamic]) => (named ?? bare ?? dynamic) as string,
  );
  return targets.map((target) =>
    target.startsWith('.') ? path.normalize(path.join(path.dirname(file), target)) : target,
  );
}

/**
 * Maps folder `a` to folder `b` for each file of `a` that imports one of `b`; `folderOf` returns the folder of a
 * file.
 */
export function folderArrows(
  graph: ImportGraph,
  folderOf: (file: string) => string,
): Map<string, Map<string, string>> {
  const arrows = new Map<string, Map<string, string>>();
  for (const [file, targets] of graph) {
    for (const target of targets.filter((each) => graph.has(each))) {
      const [from, to] = [folderOf(file), folderOf(target)];
      if (from === to) continue;
      const known = arrows.get(from) ?? new Map<string, string>();
      arrows.set(from, known.set(to, known.get(to) ?? `${file} imports ${target}`));
    }
  }
  return arrows;
}

/** The files of the repository that are reached from `entries` by imports, type-only ones included; `entries` too. */
export function reachedFrom(graph: ImportGraph, entries: readonly string[]): string[] {
  const reached = new Set<string>();
  const visit = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    for (const target of graph.get(file) ?? []) if (graph.has(target)) visit(target);
  };
  for (const entry of entries) visit(entry);
  return [...reached];
}

/** Every cycle of a graph, as its nodes in the direction of the edges; empty if there is none. */
export function circles(nodes: Iterable<string>, next: (node: string) => Iterable<string>): string[][] {
  const found: string[][] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (node: string): void => {
    const at = trail.indexOf(node);
    if (at >= 0) {
      found.push([...trail.slice(at), node]);
      return;
    }
    if (done.has(node)) return;
    trail.push(node);
    for (const target of next(node)) visit(target);
    trail.pop();
    done.add(node);
  };
  for (const node of nodes) visit(node);
  return found;
}

/** The folder of a file, limited to its first `depth` path segments. */
export const folderAt =
  (depth: number) =>
  (file: string): string =>
    path.dirname(file).split('/').slice(0, depth).join('/');

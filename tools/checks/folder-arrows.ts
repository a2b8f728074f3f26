/**
 * `npm run arrows`: prints which folder imports from which, from the folders that import most to those that import
 * nothing.
 */
import { folderArrows, folderAt, readImportGraph } from './import-graph.ts';

const depth = Number(process.argv[2] ?? 2);
const graph = readImportGraph();
const product = [...graph].filter(([file]) => !/^(test|docs|tools)\//.test(file));
const arrows = folderArrows(new Map(product), folderAt(depth));
const folders = new Set(product.map(([file]) => folderAt(depth)(file)));

/** The height of a folder is greater than that of every folder that it imports from. */
const heights = new Map<string, number>();
function heightOf(folder: string): number {
  const known = heights.get(folder);
  if (known !== undefined) return known;
  const below = [...(arrows.get(folder)?.keys() ?? [])].map(heightOf);
  const height = Math.max(0, ...below.map((each) => each + 1));
  heights.set(folder, height);
  return height;
}

for (const folder of [...folders].sort((a, b) => heightOf(b) - heightOf(a) || (a < b ? -1 : 1))) {
  const targets = [...(arrows.get(folder)?.keys() ?? [])].sort();
  console.log(`${String(heightOf(folder)).padStart(2)}  ${folder.padEnd(28)} ${targets.join(', ')}`);
}

import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import {
  type AdvertEvent,
  advertKeyOf,
  applyIfNewer,
  type Comparison,
  compareToApplied,
  type Position,
  parseBody,
  positionOf,
  RefusedEventError,
} from '../../../../kits/typescript/index.ts';
import { createInMemoryPositions } from '../../../../kits/typescript/testing/index.ts';

interface Step {
  readonly message: string;
  readonly outcome: string;
  readonly missing?: number;
  readonly code?: string;
}
interface Document {
  readonly messages: Readonly<Record<string, unknown>>;
  readonly vectors: readonly {
    readonly name: string;
    readonly steps: readonly Step[];
    readonly applied: Readonly<Record<string, Position>>;
  }[];
}
const { messages, vectors }: Document = JSON.parse(readFileSync('docs/subscribe/vectors.json', 'utf8'));
const page = readFileSync('docs/subscribe/not-typescript.md', 'utf8');
const shown = (language: string) => new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(page)?.[1] ?? '';
const isToApply = (outcome: string) => outcome === 'apply' || outcome === 'gap';

/** The steps of a vector, with the outcomes that `apply` gives the adverts' events. */
async function play(
  steps: readonly Step[],
  apply: (event: AdvertEvent) => Comparison | Promise<Comparison>,
): Promise<Step[]> {
  const played: Step[] = [];
  for (const { message } of steps) {
    const body = messages[message];
    try {
      const event = parseBody(typeof body === 'string' ? body : JSON.stringify(body));
      const { outcome, missing } =
        'sequence' in event.detail.metadata
          ? await apply(event as AdvertEvent)
          : { outcome: 'apply', missing: 0 };
      played.push({ message, outcome, ...(outcome === 'gap' && { missing }) });
    } catch (error) {
      if (!(error instanceof RefusedEventError)) throw error;
      played.push({ message, outcome: 'refused', code: error.code });
    }
  }
  return played;
}

it('as many vectors exist as the page says, its example among them', () => {
  expect(page).toContain(`holds ${vectors.length} sequences`);
  expect(vectors).toContainEqual(JSON.parse(shown('json')));
});

it('compareToApplied agrees with every vector', async () => {
  for (const vector of vectors) {
    const applied: Record<string, Position> = {};
    const steps = await play(vector.steps, (event) => {
      const comparison = compareToApplied(applied[advertKeyOf(event)], positionOf(event));
      if (isToApply(comparison.outcome)) applied[advertKeyOf(event)] = positionOf(event);
      return comparison;
    });
    expect({ name: vector.name, steps, applied }).toEqual(vector);
  }
});

it('applyIfNewer with a store agrees with every vector', async () => {
  for (const { name, steps } of vectors) {
    const positions = createInMemoryPositions();
    const played = await play(steps, async (event) => {
      let calls = 0;
      const comparison = await applyIfNewer(event, { positions }, () => calls++);
      expect(calls).toBe(isToApply(comparison.outcome) ? 1 : 0);
      return comparison;
    });
    expect({ name, steps: played }).toEqual({ name, steps });
  }
});

it('the SQL of docs/subscribe/not-typescript.md agrees with every vector', async () => {
  const database = new DatabaseSync(':memory:');
  database.exec('CREATE TABLE adverts (advert TEXT PRIMARY KEY, generation INT, sequence INT, status TEXT)');
  const write = database.prepare(shown('sql'));
  for (const { name, steps, applied } of vectors) {
    database.exec('DELETE FROM adverts');
    const played = await play(steps, (event) => {
      const { generation, sequence } = positionOf(event);
      const row = { $1: advertKeyOf(event), $2: generation, $3: sequence, $4: event.detail.data.status };
      return { outcome: write.run(row).changes === 1 ? 'apply' : 'stale', missing: 0 };
    });
    const written = (list: readonly Step[]) => list.map(({ outcome }) => isToApply(outcome));
    expect(written(played), name).toEqual(written(steps));
    const rows = database.prepare('SELECT advert, generation, sequence FROM adverts ORDER BY advert').all();
    expect(Object.fromEntries(rows.map(({ advert, ...position }) => [advert, position]))).toEqual(applied);
  }
  database.close();
});

import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import {
  advertKeyOf,
  applyIfNewer,
  compareToApplied,
  type Position,
  parseBody,
  positionOf,
  RefusedEventError,
} from '../../../subscriber/index.ts';
import { createInMemoryPositions } from '../../../subscriber/testing/index.ts';

interface Step {
  readonly message: string;
  readonly outcome: string;
  readonly missing?: number;
  readonly code?: string;
}
interface Vector {
  readonly name: string;
  readonly steps: readonly Step[];
  readonly applied: Readonly<Record<string, Position>>;
}
const { messages, vectors } = JSON.parse(readFileSync('docs/subscribe/vectors.json', 'utf8')) as {
  messages: Readonly<Record<string, unknown>>;
  vectors: readonly Vector[];
};
const bodyOf = (message: string): string => {
  const body = messages[message];
  return typeof body === 'string' ? body : JSON.stringify(body);
};

/** The kit's outcome for a message, for each way of applying events. */
async function outcomeOf(
  message: string,
  apply: (event: Parameters<typeof positionOf>[0]) => Promise<object> | object,
): Promise<Step> {
  try {
    const event = parseBody(bodyOf(message));
    if (!('sequence' in event.detail.metadata)) return { message, outcome: 'apply' };
    return { message, ...(await apply(event as Parameters<typeof positionOf>[0])) } as Step;
  } catch (error) {
    if (!(error instanceof RefusedEventError)) throw error;
    return { message, outcome: 'refused', code: error.code };
  }
}
const withMissing = (step: Step): Step =>
  step.outcome === 'gap' || !('missing' in step) ? step : without(step);
const without = ({ missing: _none, ...step }: Step): Step => step;

describe('the test vectors', () => {
  it('are as many as the page says, with every outcome and code, and the example of the page among them', () => {
    const steps = vectors.flatMap((vector) => vector.steps);
    const page = readFileSync('docs/subscribe/not-typescript.md', 'utf8');
    const [, example = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? [];

    expect(page).toContain(`holds ${vectors.length} sequences`);
    expect(vectors).toContainEqual(JSON.parse(example));

    expect(vectors.length).toBeGreaterThanOrEqual(500);
    expect(new Set(steps.map(({ outcome, code }) => code ?? outcome))).toEqual(
      new Set([
        'apply',
        'gap',
        'duplicate',
        'stale',
        'not-an-event',
        'unsupported-version',
        'unknown-detail-type',
      ]),
    );
  });

  it('are what compareToApplied says', async () => {
    for (const { name, steps, applied } of vectors) {
      const positions = new Map<string, Position>();
      const seen: Step[] = [];
      for (const { message } of steps) {
        const step = await outcomeOf(message, (event) => {
          const comparison = compareToApplied(positions.get(advertKeyOf(event)), positionOf(event));
          if (['apply', 'gap'].includes(comparison.outcome))
            positions.set(advertKeyOf(event), positionOf(event));
          return comparison;
        });
        seen.push(withMissing(step));
      }
      expect({ name, steps: seen, applied: Object.fromEntries(positions) }).toEqual({ name, steps, applied });
    }
  });

  it('are what applyIfNewer does with a store', async () => {
    for (const { name, steps } of vectors) {
      const positions = createInMemoryPositions();
      const seen: Step[] = [];
      for (const { message } of steps) {
        let called = 0;
        const step = await outcomeOf(message, (event) => applyIfNewer(event, { positions }, () => called++));
        seen.push(withMissing(step));
        const wanted = step.outcome === 'gap' || (step.outcome === 'apply' && 'missing' in step);
        expect(called, `${name}: ${message}`).toBe(wanted ? 1 : 0);
      }
      expect({ name, steps: seen }).toEqual({ name, steps });
    }
  });

  it('are what the SQL of docs/subscribe/not-typescript.md writes', () => {
    const guide = readFileSync('docs/subscribe/not-typescript.md', 'utf8');
    const [, sql = ''] = /```sql\n([\s\S]*?)```/.exec(guide) ?? [];
    const database = new DatabaseSync(':memory:');
    database.exec(
      'CREATE TABLE adverts (advert TEXT PRIMARY KEY, generation INT, sequence INT, status TEXT)',
    );
    const write = database.prepare(sql);
    for (const { name, steps, applied } of vectors) {
      database.exec('DELETE FROM adverts');
      for (const { message, outcome, code } of steps) {
        if (code) continue;
        const event = parseBody(bodyOf(message));
        if (event['detail-type'] !== 'AdvertStatusChanged' && event['detail-type'] !== 'AdvertUnavailable')
          continue;
        const { generation, sequence } = positionOf(event);
        const { status } = event.detail.data;
        const { changes } = write.run({
          $1: advertKeyOf(event),
          $2: generation,
          $3: sequence,
          $4: status,
        });
        expect(changes, `${name}: ${message}`).toBe(outcome === 'apply' || outcome === 'gap' ? 1 : 0);
      }
      const rows = database.prepare('SELECT advert, generation, sequence FROM adverts ORDER BY advert').all();
      expect(Object.fromEntries(rows.map(({ advert, ...position }) => [advert, position]))).toEqual(applied);
    }
    database.close();
  });
});

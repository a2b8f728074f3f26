/** Planted faults in the fan-out. */

import type { Replacement } from './mutants.ts';
import { type PlantedFault, plantedSource, plantedWiring } from './planted-fault.ts';

const folder = 'functions/fan-out';
const entry = 'fan-out.ts';
const inFanOut = (name: string, ...replacements: readonly Replacement[]) =>
  plantedSource(name, [{ folder, entry, replacements }]);
const inSettling = (
  name: string,
  ...replacements: readonly { readonly from: string; readonly to: string }[]
) => inFanOut(name, ...replacements.map((one) => ({ file: 'settle-advert.ts', ...one })));

const observe = 'await observe(deps, message, fetchDeadlineMs)';
const readRow = 'const stored = (await histories.read(key)) ?? firstRow;';
const publish = 'if (row.envelope !== undefined) await events.publish(row.envelope);';
const publishFirst = 'stored.pending ? await publishPending(deps, message, stored) : stored';

export const plantedInFanOut: readonly PlantedFault[] = [
  inSettling(
    'row-read-after-fetch',
    { from: readRow, to: `const early = ${observe};\n  ${readRow}` },
    { from: `const observed = ${observe}`, to: 'const observed = early' },
  ),
  inSettling('status-kept-over-conflict', {
    from: observe,
    to: `((group as { kept?: Awaited<ReturnType<typeof observe>> }).kept ??= ${observe})`,
  }),
  inSettling('pending-left-out', { from: publishFirst, to: 'stored' }),
  inSettling('pending-unrecorded', { from: 'envelope, pending: true }', to: 'envelope, pending: false }' }),
  inSettling('no-fetch-after-pending', {
    from: 'if (!row) return conflict;',
    to: "if (!row) return conflict;\n  if (stored.pending) return { kind: 'settled', outcome: outcomeOf(row.status) };",
  }),
  inSettling('repeat-made-anew', {
    from: publish,
    to: publish.replace(
      'publish(row.envelope)',
      "publish(row.by === message.key ? row.envelope : row.envelope.replace('Z\"', '0Z\"'))",
    ),
  }),
  inSettling('only-published-counted', {
    from: 'const sequence = row.sequence + 1;',
    to: `const published = settings.publishStatuses ?? [observed.status];
  const isCounted = [observed.status, row.status].some((status) => published.includes(status as string));
  const sequence = row.sequence + (isCounted ? 1 : 0);`,
  }),
  inSettling('fields-of-first-answer', {
    from: 'copyFields(observed.advert?.(), settings.eventFields)',
    to: 'copyFields(((group as { first?: unknown }).first ??= observed.advert?.()), settings.eventFields)',
  }),
  inSettling('no-trace-of-unchanged', { from: 'if (!(await write({}))) return conflict;', to: '' }),
  inFanOut('others-done-with-dead-letter', {
    file: 'redelivery.ts',
    from: '({ delivery, verdict: atOnce })',
    to: "({ delivery, verdict: { kind: 'done', outcome: 'coalesced' } as const })",
  }),
  plantedWiring('refused-events-ignored', {
    ports: (ports) => ({
      ...ports,
      events: { publish: (event) => ports.events.publish(event).catch(() => undefined) },
    }),
  }),
];

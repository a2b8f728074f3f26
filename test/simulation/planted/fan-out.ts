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

const onLeaving = (
  name: string,
  ...replacements: readonly { readonly from: string; readonly to: string }[]
) => inFanOut(name, ...replacements.map((one) => ({ file: 'leave-queue.ts', ...one })));

const observe = 'await observe(deps, message, fetchDeadlineMs)';
const readRow = 'const row = (await histories.read(key)) ?? firstRow;';
const publishAgain =
  'if ((row.owed || ownMark) && row.envelope !== undefined) await events.publish(row.envelope);';
const markOwed =
  'const owed = await markOwed(histories, head).catch(() => false);\n  if (!owed) return sendBack(group, retryMs';

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
  inSettling('own-mark-ignored', { from: '(row.owed || ownMark) &&', to: 'row.owed &&' }),
  inSettling('no-fetch-after-own-mark', {
    from: publishAgain,
    to: `${publishAgain}\n  if (ownMark) return { kind: 'settled', outcome: outcomeOf(row.status) };`,
  }),
  inSettling('repeat-made-anew', {
    from: publishAgain,
    to: publishAgain.replace(
      'publish(row.envelope)',
      "publish(row.envelope.replace(row.by ?? '', message.key).replace('Z\"', '0Z\"'))",
    ),
  }),
  inSettling('only-published-counted', {
    from: 'const sequence = row.sequence + 1;',
    to: `const published = settings.publishStatuses ?? [observed.status];
  const isCounted = [observed.status, row.status].some((status) => published.includes(status as string));
  const sequence = row.sequence + (isCounted ? 1 : 0);`,
  }),
  inSettling('fields-of-first-answer', {
    from: 'copyFields(observed.advert, settings.eventFields)',
    to: 'copyFields(((group as { first?: unknown }).first ??= observed.advert), settings.eventFields)',
  }),
  onLeaving('owed-left-out', {
    from: markOwed,
    to: markOwed.replace('await markOwed(histories, head).catch(() => false)', 'true'),
  }),
  onLeaving('owed-only-on-redelivery', {
    from: markOwed,
    to: markOwed.replace('await', 'head.receives < 2 || await'),
  }),
  plantedSource('owed-without-version', [
    {
      folder,
      entry,
      replacements: [
        {
          file: 'leave-queue.ts',
          from: 'nextRow(row, head.position, { owed: true })',
          to: '{ ...nextRow(row, head.position, { owed: true }), version: row.version }',
        },
      ],
    },
    {
      folder: 'test/fakes',
      entry: 'state.ts',
      replacements: [
        {
          file: 'advert-histories.ts',
          from: 'if (version !== row.version - 1)',
          to: 'if (version !== row.version - 1 && !(row.owed && version === row.version))',
        },
      ],
    },
  ]),
  inSettling('no-trace-of-unchanged', {
    from: '(redelivered || row.owed || isTroubled(row)) &&',
    to: '(row.owed || isTroubled(row)) &&',
  }),
  inSettling('no-position-fence', {
    from: "if (row.position > position) return { kind: 'outdated' };",
    to: '',
  }),
  onLeaving('no-position-fence-when-owed', {
    from: 'if (row.position > head.position) return false;',
    to: '',
  }),
  onLeaving('others-done-with-dead-letter', {
    from: '({ delivery, verdict: atOnce })',
    to: "({ delivery, verdict: { kind: 'done', outcome: 'coalesced' } as const })",
  }),
  inFanOut('settled-one-by-one', {
    file: 'by-advert.ts',
    from: 'historyKeyOf(message) : id;',
    to: 'historyKeyOf(message) + id : id;',
  }),
  plantedWiring('refused-events-ignored', {
    ports: (ports) => ({
      ...ports,
      events: { publish: (event) => ports.events.publish(event).catch(() => undefined) },
    }),
  }),
  plantedWiring('standard-queue', {}, { fifo: false }),
];

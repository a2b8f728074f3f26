/** Planted faults in the drain. */
import { type PlantedFault, plantedSource, plantedWiring } from './planted-fault.ts';

type Change = { readonly from: string; readonly to: string };

const inDrain = (name: string, file: string, ...changes: readonly Change[]) =>
  plantedSource(name, [
    {
      folder: 'functions/drain',
      entry: 'drain.ts',
      replacements: changes.map((one) => ({ file, ...one })),
    },
  ]);

/** Both the drain and the resync command use this module. */
const changedReadPage = (change: Change) =>
  ['drain.ts', 'poll-feed.ts'].map((entry) => ({
    folder: 'functions/drain',
    entry,
    replacements: [{ file: 'read-page.ts', ...change }],
  }));

const enqueue = '  await enqueuePage(deps, listing, sent, { receivedAt, cause });\n';
const afterAdvance = '  observer.count(metrics.listed, page.data.length);\n';

export const plantedInDrain: readonly PlantedFault[] = [
  inDrain(
    'cursor-before-sends',
    'accept-page.ts',
    { from: enqueue, to: '' },
    { from: afterAdvance, to: enqueue + afterAdvance },
  ),
  inDrain('refused-sends-ignored', 'accept-page.ts', {
    from: 'if (refused.size > 0)',
    to: 'if (refused.size < 0)',
  }),
  inDrain('key-from-cursor', 'accept-page.ts', {
    from: 'const readId = newId();',
    to: "const readId = state.cursor ?? 'first';",
  }),
  inDrain(
    'reset-before-sends',
    'accept-page.ts',
    { from: enqueue, to: `  if (!startedOver)${enqueue}` },
    { from: afterAdvance, to: `  if (startedOver)${enqueue}${afterAdvance}` },
  ),
  inDrain('last-success-of-any-page', 'accept-page.ts', {
    from: '...(page.hasMore ? resyncing && { resyncing } : { lastSuccess: serviceTime })',
    to: '...(page.hasMore && resyncing && { resyncing }), lastSuccess: serviceTime',
  }),
  plantedSource(
    'resync-starts-over-from-last-success',
    changedReadPage({
      from: 'resyncing ? undefined : knownSuccess(lastSuccess, nowMs)',
      to: 'knownSuccess(lastSuccess, nowMs)',
    }),
  ),
  plantedSource('date-believed', [
    {
      folder: 'shared/partner-api',
      entry: 'partner-service.ts',
      replacements: [
        {
          file: 'service-clock.ts',
          from: 'if (dateMs !== undefined) return Math.min(dateMs, nowMs);',
          to: 'return httpTime(date, nowMs);',
        },
      ],
    },
    // Also allows a last success in the future.
    ...changedReadPage({ from: 'knownSuccess(lastSuccess, nowMs)', to: 'lastSuccess' }),
  ]),
  inDrain('old-since-after-reset', 'read-page.ts', {
    from: 'since: restart, startedOver',
    to: 'since, startedOver',
  }),
  plantedSource('lost-lease-writes', [
    {
      folder: 'shared/state',
      entry: 'feed-states.ts',
      replacements: [
        { file: 'feed-states.ts', from: 'if (!isLeased(state, nowMs)) return undefined;\n', to: '' },
        {
          file: 'feed-states.ts',
          from: 'put(keyOf(state), next, etag)',
          to: "put(keyOf(state), next, (await store.get(keyOf(state)))?.etag ?? 'absent')",
        },
      ],
    },
  ]),
  inDrain('read-ahead-by-30-s', 'poll-feed.ts', {
    from: 'const readAheadSeconds = 30;',
    to: 'const readAheadSeconds = 3_000;',
  }),
  plantedWiring('no-overlap', { overlapSeconds: 0 }),
];

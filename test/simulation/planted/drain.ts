/** Rules of the drain (design §3), left out. */
import { type PlantedFault, plantedSource, plantedWiring } from './planted-fault.ts';

const inPoll = (name: string, ...replacements: readonly { readonly from: string; readonly to: string }[]) =>
  plantedSource(name, [
    {
      folder: 'functions/drain',
      entry: 'drain.ts',
      replacements: replacements.map((one) => ({ file: 'poll.ts', ...one })),
    },
  ]);

/** The drain and the command that reads again both come by there. */
const changedReadPage = (...replacements: readonly { readonly from: string; readonly to: string }[]) =>
  ['drain.ts', 'poll.ts'].map((entry) => ({
    folder: 'functions/drain',
    entry,
    replacements: replacements.map((one) => ({ file: 'read-page.ts', ...one })),
  }));
const inReadPage = (name: string, replacement: { readonly from: string; readonly to: string }) =>
  plantedSource(name, changedReadPage(replacement));

const enqueue = '  await enqueue(deps, feed, state, found, { receivedAt, cause });\n';
const afterAdvance = '  observer.count(metrics.listed, page.data.length);\n';

export const plantedInDrain: readonly PlantedFault[] = [
  inPoll(
    'cursor-before-sends',
    { from: enqueue, to: '' },
    { from: afterAdvance, to: enqueue + afterAdvance },
  ),
  inPoll('refused-sends-ignored', { from: 'if (refused.size > 0)', to: 'if (refused.size < 0)' }),
  inPoll('key-from-cursor', {
    from: 'const readId = deps.newId();',
    to: "const readId = state.cursor ?? 'first';",
  }),
  inPoll(
    'reset-before-sends',
    { from: enqueue, to: `  if (!startedOver)${enqueue}` },
    { from: afterAdvance, to: `  if (startedOver)${enqueue}${afterAdvance}` },
  ),
  inPoll('last-success-of-any-page', {
    from: '...(page.hasMore ? resyncing && { resyncing } : { lastSuccess: serviceTime })',
    to: '...(page.hasMore && resyncing && { resyncing }), lastSuccess: serviceTime',
  }),
  inReadPage('resync-starts-over-from-last-success', {
    from: 'resyncing ? undefined : knownSuccess(lastSuccess, nowMs)',
    to: 'knownSuccess(lastSuccess, nowMs)',
  }),
  plantedSource('date-believed', [
    {
      folder: 'shared/partner-api',
      entry: 'client.ts',
      replacements: [
        {
          file: 'http/service-clock.ts',
          from: 'if (dateMs !== undefined) return Math.min(dateMs, nowMs);',
          to: 'return httpTime(date, nowMs);',
        },
      ],
    },
    // A last success in the future is not used either.
    ...changedReadPage({ from: 'knownSuccess(lastSuccess, nowMs)', to: 'lastSuccess' }),
  ]),
  plantedSource('old-since-after-reset', [
    {
      folder: 'functions/drain',
      entry: 'drain.ts',
      replacements: [{ file: 'read-page.ts', from: 'since: restart, startedOver', to: 'since, startedOver' }],
    },
  ]),
  plantedSource('lost-lease-writes', [
    {
      folder: 'test/fakes',
      entry: 'state.ts',
      replacements: [
        {
          file: 'feed-states.ts',
          from: 'return row?.lease && row.fence === fence && row.lease.untilMs > nowMs ? row : undefined;',
          to: 'return row && { ...row, lease: row.lease ?? { holder: String(fence), untilMs: nowMs } } && row;',
        },
        { file: 'feed-states.ts', from: 'if (!row?.lease) return false;', to: 'if (!row) return false;' },
        {
          file: 'feed-states.ts',
          from: 'holder: row.lease.holder, untilMs: nowMs + leaseMs };\n      const',
          to: "holder: '', untilMs: nowMs + leaseMs };\n      const",
        },
      ],
    },
  ]),
  plantedWiring('no-overlap', { overlapSeconds: 0 }),
];

import { expect, it } from 'vitest';
import { type RawLine, readAdvertLog } from '../../../operations/history/advert-log.ts';

const begunMs = Date.parse('2026-11-20T12:00:00Z');

/** Page `n` was read at minute `n`; fan-out handled it ten seconds later. */
const lines: RawLine[] = Array.from({ length: 30 }, (_, n): RawLine[] => {
  const atMs = begunMs + n * 60_000;
  const page = { partnerAccount: 'main', correlationId: `page-${n}` };
  return [
    {
      ...{ atMs, from: 'drain' },
      text: JSON.stringify({ level: 'INFO', message: 'page accepted', ...page, generation: 7 }),
    },
    {
      ...{ atMs: atMs + 10_000, from: 'fan-out' },
      text: JSON.stringify({
        ...{ level: 'INFO', message: 'batch handled' },
        pages: [{ ...page, adverts: { retry: ['123'] } }],
      }),
    },
  ];
}).flat();

/** As Logs Insights answers (cli/bridge/log-lines.ts): newest first. */
const readLog = async ({ words, fromMs }: { readonly words: readonly string[]; readonly fromMs: number }) =>
  lines
    .filter(({ atMs, text }) => atMs >= fromMs && words.some((word) => text.includes(`"${word}"`)))
    .toSorted((a, b) => b.atMs - a.atMs);

it('history reads the lines of the newest pages that named an advert, where there are many', async () => {
  const log = await readAdvertLog(
    readLog,
    { partnerAccount: 'main', advertId: '123' },
    { pages: [], fromMs: begunMs },
  );

  const drained = log.filter(({ from }) => from === 'drain').map(({ correlationId }) => correlationId);
  expect(drained).toContain('page-29');
});

it('history reads the line of a page that it knows from elsewhere, such as that of the latest event', async () => {
  const log = await readAdvertLog(
    readLog,
    { partnerAccount: 'main', advertId: '123' },
    { pages: ['page-29'], fromMs: begunMs },
  );

  const drained = log.filter(({ from }) => from === 'drain').map(({ correlationId }) => correlationId);
  expect(drained).toContain('page-29');
});

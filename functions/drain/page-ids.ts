import { advertIdPattern } from '../../shared/contract/checks.ts';

export interface PageIds {
  /** Distinct, in the order first named. */
  readonly ids: readonly string[];
  /** How often the page named an ID that it had named before. */
  readonly repeated: number;
  /** How many entries of the page are no IDs. */
  readonly malformed: number;
  /** The first five of them as text, each of at most 256 characters. */
  readonly malformedShown: readonly string[];
}

/** Enough to see what they are; a page has up to a thousand. */
const maxShown = 5;

/** Sorts what a page names. A whole number counts as an ID too: should the service change its mind, nothing is lost. */
export function idsOf(data: readonly unknown[]): PageIds {
  const ids = new Set<string>();
  const malformedShown: string[] = [];
  let malformed = 0;
  for (const entry of data) {
    const id = Number.isSafeInteger(entry) ? String(entry) : entry;
    if (typeof id === 'string' && advertIdPattern.test(id)) ids.add(id);
    else {
      malformed += 1;
      if (malformed <= maxShown) malformedShown.push(textOf(entry));
    }
  }
  return { ids: [...ids], repeated: data.length - malformed - ids.size, malformed, malformedShown };
}

function textOf(entry: unknown): string {
  if (typeof entry === 'string') return entry.slice(0, 256);
  try {
    return (JSON.stringify(entry) ?? '').slice(0, 256);
  } catch {
    // Nested too deep: one such entry must not keep the rest of its page from being read.
    return '(not printable)';
  }
}

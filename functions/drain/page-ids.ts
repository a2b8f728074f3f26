import { advertIdPattern } from '../../shared/contract/checks.ts';

export interface PageIds {
  /** Distinct IDs, in the order of their first occurrence. */
  readonly ids: readonly string[];
  /** Number of repeated IDs on the page. */
  readonly repeated: number;
  /** Number of malformed entries on the page. */
  readonly malformed: number;
  /** The first five malformed entries as text, each cut to 256 characters. */
  readonly malformedShown: readonly string[];
}

/** Enough to identify the problem; a page may have a thousand malformed entries. */
const maxShown = 5;

/**
 * Separates the IDs of a page from malformed entries. An integer is accepted as an ID too, in case the service changes
 * the type.
 */
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
    // `JSON.stringify` fails for deep nesting; one such entry must not block the rest of the page.
    return '(not printable)';
  }
}

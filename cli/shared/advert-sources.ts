/** Where a backfill's IDs come from. */
import { createHash } from 'node:crypto';
import { text as textOf } from 'node:stream/consumers';
import type { Bridge } from '../../operations/bridge.ts';
import { CommandError } from '../../operations/errors.ts';
import { advertIdPattern } from '../../shared/contract/checks.ts';
import type { AdvertSource } from '../../shared/ports/backfills.ts';
import type { BackfillKey } from '../../shared/state/progress.ts';
import type { Io } from './io.ts';
import { readTextFile } from './secret-input.ts';

export interface ListPaging {
  /**
   * `page`: the page's number, from 1. `offset`: the number of adverts before the page. `none`: a single page contains
   * all adverts.
   */
  readonly style: 'page' | 'offset' | 'none';
  readonly pageSize: number;
  readonly positionParameter?: string | undefined;
  readonly limitParameter?: string | undefined;
}

/** Time limit for one page, including the wait for the rate budget. */
const pageMs = 5 * 60_000;

/**
 * The partner service's advert list, inactive adverts included. The service does not document how the list is paged
 * (docs/partner-api.md). A page may be shorter than requested, so only an empty page ends the list.
 */
export function listSource(
  bridge: Pick<Bridge, 'service' | 'clock'>,
  { partnerAccount, generation }: BackfillKey,
  { style, pageSize, positionParameter = style, limitParameter }: ListPaging,
): AdvertSource {
  return {
    name: `list ${style}`,
    async page(position) {
      if (style === 'none' && position > 0) return undefined;
      const { data } = await (await bridge.service()).listAdverts(
        partnerAccount,
        {
          position: style === 'page' ? position + 1 : position,
          limit: pageSize,
          positionParameter: style === 'none' ? 'page' : positionParameter,
          ...(limitParameter === undefined ? {} : { limitParameter }),
        },
        { generation, deadlineMs: bridge.clock.now() + pageMs },
      );
      if (data.length === 0) return undefined;
      return { data, next: position + (style === 'offset' ? data.length : 1) };
    },
  };
}

const idsAtOnce = 100;
const maxFlaws = 10;

/**
 * Reads IDs from a file, one per line; `-` is standard input.
 *
 * @throws {CommandError} if it cannot be read or a line is not an ID; then no ID is queued
 */
export async function fileSource(
  io: Io,
  file: string,
): Promise<AdvertSource & { readonly ids: readonly string[] }> {
  const text = file === '-' ? await textOf(io.stdin) : await readTextFile(file, `IDs (${file})`);
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const wrong = lines.flatMap((line, index) =>
    line === '' || advertIdPattern.test(line) ? [] : [index + 1],
  );
  if (wrong.length > 0) {
    const more = wrong.length > maxFlaws ? ` and ${wrong.length - maxFlaws} more` : '';
    throw new CommandError(
      `${file === '-' ? 'standard input' : file} must contain one advert ID of 1 to 20 digits per line. ` +
        `Something else is on line ${wrong.slice(0, maxFlaws).join(', ')}${more}. Nothing was listed`,
    );
  }
  const ids = [...new Set(lines.filter((line) => line !== ''))];
  if (ids.length === 0) throw new CommandError('there is no advert ID in the file: nothing was listed');
  const hash = createHash('sha256').update(ids.join('\n')).digest('hex').slice(0, 16);
  return {
    name: `ids ${hash}`,
    ids,
    total: async () => ids.length,
    async page(position) {
      const data = ids.slice(position, position + idsAtOnce);
      return data.length === 0 ? undefined : { data, next: position + data.length };
    },
  };
}

import * as v from 'valibot';
import { number, option } from './options.ts';

const parameter = v.optional(
  v.pipe(v.string(), v.regex(/^[A-Za-z0-9_.[\]-]{1,64}$/, 'expected the name of a query parameter')),
);

/**
 * How the partner service's advert list is paged. This is an assumption, because it is not documented
 * (docs/partner-api.md).
 */
export const pagingOptions = {
  paging: option(
    'STYLE',
    'assumed way in which the list is paged: page, offset or none',
    v.optional(v.picklist(['page', 'offset', 'none'], 'expected page, offset or none'), 'page'),
  ),
  pageSize: number('assumed largest page of the list, 1–1000', 1, 1000, 100),
  positionParameter: option('NAME', 'name of the page or offset parameter, if it is another one', parameter),
  limitParameter: option('NAME', 'name of the page size parameter, if it is not limit', parameter),
};

/** The options that say which adverts a backfill or an audit is about. */
import { text as textOf } from 'node:stream/consumers';
import * as v from 'valibot';
import { CommandError } from '../../operations/errors.ts';
import { advertIdPattern } from '../../shared/contract/checks.ts';
import type { Io } from './io.ts';
import { number, option } from './options.ts';
import { readTextFile } from './secret-input.ts';

const maxFlaws = 10;

/**
 * Reads IDs from a file, one per line; `-` is standard input.
 *
 * @throws {CommandError} if it cannot be read or a line is not an ID; then no ID is queued
 */
export async function readIds(io: Io, file: string): Promise<readonly string[]> {
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
  return ids;
}

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

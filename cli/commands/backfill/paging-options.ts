import * as v from 'valibot';
import { number, option } from '../../shared/options.ts';

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

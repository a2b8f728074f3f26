import type { Fields, Observer } from '../../../shared/ports/observer.ts';

/** The same trouble is news again after this. */
const newsAgainMs = 60_000;

export interface RepeatOptions {
  /** Whether a feed that cannot be read, or a token that cannot be refreshed, is told at all. */
  readonly accountFaults: boolean;
  readonly now?: () => number;
}

/** What goes wrong with every request for a while is told once a minute, with how often it was not told. */
export function withoutRepeats(
  observer: Observer,
  { accountFaults, now = Date.now }: RepeatOptions,
): Observer {
  const told = new Map<string, { readonly at: number; untold: number }>();

  const at =
    (level: 'warn' | 'error') =>
    (message: string, fields: Fields = {}) => {
      if (!accountFaults && fields.fault !== undefined && fields.advertId === undefined) return;
      // An error is about one advert; of warnings there may be one for each of thousands.
      const advertId = level === 'error' ? fields.advertId : '';
      const key = [message, fields.partnerAccount, fields.fault, advertId].join('\n');
      const before = told.get(key);
      if (before && now() - before.at < newsAgainMs) {
        before.untold += 1;
        return;
      }
      told.set(key, { at: now(), untold: 0 });
      observer[level](message, before?.untold ? { ...fields, repeatedSince: before.untold } : fields);
    };

  return { ...observer, warn: at('warn'), error: at('error') };
}

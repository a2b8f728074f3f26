import type { Fields, Observer } from '../../../shared/ports/observer.ts';

const repeatMs = 60_000;
/** A run without an end forgets what it has logged after so many different messages. */
const maxLogged = 10_000;

/** Logs a repeated warning once a minute. */
export function withoutRepeats(observer: Observer, now: () => number = Date.now): Observer {
  const logged = new Map<string, { readonly at: number; leftOut: number }>();

  const at =
    (level: 'warn' | 'error') =>
    (message: string, fields: Fields = {}) => {
      // An error is about one advert; the same warning may occur for thousands.
      const advertId = level === 'error' ? fields.advertId : '';
      const key = [message, fields.partnerAccount, fields.fault, advertId].join('\n');
      const before = logged.get(key);
      if (before && now() - before.at < repeatMs) {
        before.leftOut += 1;
        return;
      }
      if (logged.size >= maxLogged) logged.clear();
      logged.set(key, { at: now(), leftOut: 0 });
      observer[level](message, before?.leftOut ? { ...fields, repeatedSince: before.leftOut } : fields);
    };

  return { ...observer, warn: at('warn'), error: at('error') };
}

/** Stored rows, checked when they are read: a row edited by hand must not become an event, or stop everybody's round. */
import * as v from 'valibot';
import { form, partnerAccountName, status, wholeNumber } from './checks.ts';
import { generation } from './events.ts';

/** What messages call the row of a partner account: the place of its {@link ShapeError}. */
export const accountPlace = (name: string | undefined): string => `partner account ${name}`;
/** The same for a feed. @param feed none: what the places of all feeds of the account begin with */
export const feedPlace = (partnerAccount: string, feed = ''): string =>
  `state of feed ${partnerAccount}/${feed}`;

const text = v.pipe(v.string(), v.minLength(1, 'expected some text'));
/** Ms since 1970. */
const moment = v.pipe(v.number(), v.finite('expected a time in milliseconds'));

/** The history of one advert. See shared/ports/advert-histories.ts for what each field is for. */
export const advertRow = v.object({
  form,
  sequence: wholeNumber(0),
  status: v.nullable(status),
  envelope: v.exactOptional(text),
  by: v.exactOptional(text),
  position: v.string(),
  owed: v.optional(v.boolean(), false),
  tries: v.exactOptional(wholeNumber(0)),
  missingSince: v.exactOptional(moment),
  version: wholeNumber(1),
});

/** Where reading one feed has come to. See shared/ports/feed-states.ts. Fields of a newer bridge stay. */
export const feedState = v.looseObject({
  form,
  partnerAccount: partnerAccountName,
  feed: text,
  generation,
  since: text,
  cursor: v.exactOptional(v.string()),
  resyncing: v.exactOptional(v.literal(true)),
  lastSuccess: v.exactOptional(moment),
  lastPolled: v.exactOptional(moment),
  resets: wholeNumber(0),
  resetsInARow: wholeNumber(0),
  pausedUntil: v.exactOptional(moment),
  fault: v.exactOptional(v.string()),
  faultKind: v.exactOptional(v.string()),
  needsPerson: v.exactOptional(v.boolean()),
});

/** Somebody wants nothing to be asked of the service. See shared/domain/operator-pause.ts. */
const operatorPause = v.looseObject({
  who: text,
  since: moment,
  until: v.exactOptional(moment),
  reason: v.exactOptional(text),
});

/** What is known of a partner account apart from its secret. See shared/domain/partner-account.ts. Fields of a newer bridge stay. */
export const partnerAccountRow = v.looseObject({
  form,
  name: partnerAccountName,
  generation,
  connectedAt: text,
  stop: v.exactOptional(
    v.looseObject({
      reason: text,
      tokenVersion: v.string(),
      at: text,
      unanswered: v.exactOptional(v.boolean()),
      forgetting: v.exactOptional(v.boolean()),
    }),
  ),
  pause: v.exactOptional(v.looseObject({ until: moment, reason: text, attempts: wholeNumber(0) })),
  operatorPause: v.exactOptional(operatorPause),
  refreshing: v.exactOptional(v.looseObject({ holder: text, startedAt: moment, until: moment })),
  token: v.exactOptional(v.looseObject({ version: text, expiresAt: moment, usedAt: moment })),
  owedEvents: v.exactOptional(v.array(text)),
});

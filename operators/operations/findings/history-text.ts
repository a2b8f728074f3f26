/** Makes the sentences of `history` from what is known of an advert; problems.json has them. */
import type { AdvertEvent } from '../../../shared/contract/events.ts';
import { toInstant } from '../../../shared/domain/clock.ts';
import { blamingHold } from '../../../shared/domain/holds.ts';
import problems from '../../../shared/findings/problems.json' with { type: 'json' };
import { sentence } from '../../../shared/findings/sentences.ts';
import type { KnownHistory } from '../history.ts';
import type { AdvertHistory } from '../printed.ts';

/** What `history --json` prints. */
export function printedHistory(known: KnownHistory): AdvertHistory {
  const { account, advertId, latest = null, latestPublished, events, waiting, deadLetters, outcome } = known;
  const { outcomes, circumstances, moments } = problems.history;
  const facts = answerFacts(known);
  return {
    partnerAccount: account.name,
    advertId,
    latest,
    latestPublished,
    events,
    waiting,
    deadLetters,
    facts: known.moments.map(({ at, code, event, ...about }) => ({
      at,
      says: sentence(moments[code], { ...about, event: eventText(advertId, event) }),
    })),
    outcome,
    answer: [outcomes[outcome], ...known.circumstances.map((code) => circumstances[code])]
      .map((text) => sentence(text, facts))
      .join(' '),
  };
}

function answerFacts(known: KnownHistory) {
  const { account, advertId, latest, row, givenUp, queued, feed } = known;
  const [head] = known.waiting;
  return {
    ...givenUp,
    advertId,
    account: account.name,
    connectedAt: account.connectedAt,
    queued,
    event: eventText(advertId, latest),
    hold: holdText(known),
    poll: feed?.problem?.reason,
    ...settingThatKeepsOff(known),
    missingSince: toInstant(row?.missingSince ?? 0),
    listedAt: head?.listedAt,
    tries: row?.tries,
    rowFault: row?.tries === undefined ? undefined : row.fault,
    ...endOfWait(known),
    notListed: queued > 0 ? 'handled' : 'listed by the feed',
  };
}

function settingThatKeepsOff({ account, published }: KnownHistory) {
  const { publishPartnerAccounts: accounts, publishStatuses: statuses = [] } = published;
  return accounts && !accounts.includes(account.name)
    ? { accounts: accounts.join(', ') }
    : { statuses: statuses.join(', ') };
}

function endOfWait({ account, advertId, waiting: [head] }: KnownHistory) {
  if (head?.until) return { until: head.until };
  return blamingHold(account) ? { witness: account.name } : { free: advertId };
}

function holdText({ account, hold }: KnownHistory): string {
  if (!hold) return '';
  const { kind, since, until, who, reason } = hold;
  const whose = account.holds?.includes(hold) ? { account: account.name } : { bridge: 'bridge' };
  const facts = { ...whose, who, reason, since: toInstant(since), until: toInstant(until ?? 0) };
  const { stopped, paused, open } = problems.history.holds;
  if (kind === 'authorization') return sentence(stopped, facts);
  return sentence(until === undefined ? open : paused, facts);
}

const statusText = (status: string | null): string => status ?? 'unavailable';

/** "Event 7 of advert 123 (new → active)" */
function eventText(advertId: string, event: AdvertEvent | undefined): string {
  if (!event) return `The latest event of advert ${advertId}`;
  const { metadata, data } = event.detail;
  const before = metadata.sequence === 1 ? '' : `${statusText(data.previousStatus)} → `;
  return `Event ${metadata.sequence} of advert ${advertId} (${before}${statusText(data.status)})`;
}

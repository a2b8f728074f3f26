import { createStore } from '../../../shared/aws/store.ts';
import { advertsFeed } from '../../../shared/contract/messages.ts';
import type { FeedState } from '../../../shared/state/feed-states.ts';
import { checkHistories } from '../../chaos/check-histories.ts';
import type { Status } from '../stack/advert-bridge.ts';
import { checkedEvent } from '../stack/histories.ts';
import { handledMessages, keyOf } from './handled.ts';
import type { Scene, Traffic } from './scene.ts';

export interface Verdict {
  readonly faults: readonly string[];
  /** One line for a person. */
  readonly summary: string;
}

/** Compares the contents of the subscriber's queue with the service's real state. */
export function checkReceived({ deployment, accounts, weather }: Traffic): Verdict {
  const { subscriber, sandbox } = deployment;
  const lines = subscriber.received.map((received) => {
    const event = checkedEvent(received);
    // Without EventBridge's own ID and time, which change with each publish.
    return { run: 0, text: JSON.stringify(event.detail), event };
  });
  const own = lines.filter(({ event }) => accounts.includes(event.detail.metadata.partnerAccount));
  const truth = accounts.flatMap((account) => sandbox.control.truth(account));
  const { faults, distinct, repeats } = checkHistories({ lines: own }, truth, weather.touched);
  return {
    faults,
    summary: `${distinct} events of ${weather.touched.size} adverts, ${repeats} of them repeated`,
  };
}

/**
 * Checks the books as docs/decisions/0004-books.md guarantees them on AWS: each listed ID has its outcome, and each
 * additional outcome comes from a repeated delivery, or from a page that was sent again because a drain died before
 * storing its cursor.
 */
export async function checkBooks(
  scene: Traffic & Partial<Pick<Scene, 'givenAgain'>>,
  { partnerAccounts, queue }: Status,
): Promise<Verdict> {
  const { cloud, outputs } = scene.deployment;
  const handled = await handledMessages(cloud.endpoint);
  const store = createStore({ feedState: { client: cloud.dynamo, name: outputs.feedStateTableName } });
  const faults = queue.waiting === 0 ? [] : [`${queue.waiting} messages wait`];
  const lines: string[] = [];
  for (const { name, state, reason, books, redelivered = 0 } of partnerAccounts) {
    if (!scene.accounts.includes(name)) continue;
    const feed = await store.get({ kind: 'feed', name: `${name}/${advertsFeed.name}` });
    const { cursor, counts } = (feed?.value ?? {}) as Partial<FeedState>;
    const settled = books.events + books.unchanged + books.coalesced + books.unavailable;
    const own = handled.filter(({ partnerAccount }) => partnerAccount === name);
    const messages = new Set(own.filter(({ verdict }) => isOutcome(verdict)).map(keyOf)).size;
    const given = (scene.givenAgain ?? []).filter((partnerAccount) => partnerAccount === name).length;
    const most = messages + (counts?.repeated ?? 0) + redelivered + given;
    const flaws = [
      ...(settled >= books.listed && books.inFlight === 0 ? [] : ['a listed ID has no outcome']),
      ...(settled <= most ? [] : [`no more than ${most} outcomes can be accounted for, not ${settled}`]),
      ...(books.deadLettered === 0 ? [] : ['dead-lettered']),
      ...(state === 'polling' ? [] : [`${state}: ${reason}`]),
      ...(cursor ? [] : ['no cursor is stored']),
    ];
    lines.push(`${name} ${JSON.stringify(books)}, ${messages} messages, ${redelivered} redelivered`);
    if (flaws.length > 0) faults.push(`${name}: ${flaws.join('; ')}: ${lines.at(-1)}`);
  }
  if (lines.length < scene.accounts.length) faults.push('a partner account is missing');
  return { faults, summary: lines.join('\n') };
}

const isOutcome = (verdict: string): boolean => !['retry', 'dead-letter', 'forgotten'].includes(verdict);

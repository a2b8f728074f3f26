import type { AdvertEvent, AuthorizationEvent } from '../shared/contract/events.ts';
import type { RefusedEventError } from './errors.ts';
import { type HeldClaim, released, type StaleGuard } from './guard.ts';
import { type BridgeEvent, type Parsed, parseLambdaEvent, type SqsRecord } from './parse.ts';
import { advertKeyOf, type Outcome } from './position.ts';

/** One event to apply. */
export interface Delivery {
  readonly event: BridgeEvent;
  /** `apply` or `gap`; an authorization event has no history, and is always `apply`. */
  readonly outcome: Outcome;
  /** Events of this advert between this one and what was applied last; 0 but for a `gap`. */
  readonly missing: number;
  /** Of the SQS record; `undefined` where the function is itself the target of a rule. */
  readonly messageId: string | undefined;
}

/** A record that will never become an event. */
export interface Refusal {
  readonly error: RefusedEventError;
  /** The body as it came. */
  readonly body: string;
  readonly messageId: string | undefined;
}

export interface BatchOptions {
  readonly guard: StaleGuard;
  /** How long the claims keep others off, in ms; default the guard's. */
  readonly leaseMs?: number;
  /**
   * Sends what is no event to your dead-letter queue, with the reason. Without it such a record is a failed one: SQS
   * hands it over until its `maxReceiveCount` is reached and then moves it, without a reason.
   */
  readonly onRefused?: (refusal: Refusal) => Promise<void>;
}

/** What SQS has to hear of a batch. */
export interface BatchAnswer {
  batchItemFailures: { itemIdentifier: string }[];
}

interface Group {
  readonly held: HeldClaim<AdvertEvent>;
  /** In order of position. */
  readonly deliveries: readonly (Delivery & { readonly event: AdvertEvent })[];
}

export interface OpenBatch {
  /** What is to be applied: events of one advert in order. */
  readonly deliveries: readonly Delivery[];
  /** What was left out, and why. */
  readonly skipped: readonly { readonly event: BridgeEvent; readonly outcome: 'duplicate' | 'stale' }[];
  /**
   * Everything has been applied but the messages named. Of an advert with a failed message, all later ones fail too:
   * else they would make it stale.
   */
  close(failed?: readonly string[]): Promise<BatchAnswer>;
  /** Nothing counts as applied; the claims end. */
  abandon(): Promise<void>;
}

/**
 * Takes what a Lambda function was called with: parses each record, hands over what is no event, claims each advert, and
 * leaves out what is stale or a duplicate.
 *
 * @throws {RefusedEventError} where the function is itself the target of a rule and `onRefused` is missing
 * @throws {AdvertBusyError} likewise, when somebody else has the advert; a record of a batch just goes back
 */
export async function openBatch(input: unknown, options: BatchOptions): Promise<OpenBatch> {
  const { guard, leaseMs, onRefused } = options;
  const inBatch: BatchAnswer['batchItemFailures'] = [];
  const deliveries: Delivery[] = [];
  const skipped: { event: BridgeEvent; outcome: 'duplicate' | 'stale' }[] = [];
  const groups: Group[] = [];
  const byAdvert = new Map<string, { event: AdvertEvent; messageId: string | undefined }[]>();

  const goesBack = (messageId: string | undefined, error: unknown) => {
    // A rule that calls the function waits for no list of failures: Lambda has to see the error itself.
    if (messageId === undefined) throw error;
    inBatch.push({ itemIdentifier: messageId });
  };

  async function refuse(error: RefusedEventError, record: SqsRecord | undefined): Promise<void> {
    const messageId = messageIdOf(record);
    try {
      if (!onRefused) throw error;
      await onRefused({ error, body: bodyOf(record) ?? JSON.stringify(input) ?? '', messageId });
    } catch (cause) {
      goesBack(messageId, cause);
    }
  }

  async function take(arrived: Parsed): Promise<void> {
    if ('error' in arrived) return await refuse(arrived.error, arrived.record);
    const { event } = arrived;
    const messageId = messageIdOf(arrived.record);
    if (isAuthorization(event)) deliveries.push({ event, outcome: 'apply', missing: 0, messageId });
    else {
      const key = advertKeyOf(event);
      byAdvert.set(key, [...(byAdvert.get(key) ?? []), { event, messageId }]);
    }
  }

  async function claimGroup(items: readonly { event: AdvertEvent; messageId: string | undefined }[]) {
    const messageIds = new Map(items.map(({ event, messageId }) => [event, messageId]));
    try {
      const held = await guard.claim(
        items.map(({ event }) => event) as [AdvertEvent, ...AdvertEvent[]],
        leaseMs,
      );
      const toApply: (Delivery & { event: AdvertEvent })[] = [];
      for (const { event, outcome, missing } of held.judged) {
        if (outcome === 'duplicate' || outcome === 'stale') skipped.push({ event, outcome });
        else toApply.push({ event, outcome, missing, messageId: messageIds.get(event) });
      }
      if (toApply.length > 0) groups.push({ held, deliveries: toApply });
    } catch (error) {
      for (const { messageId } of items) goesBack(messageId, error);
    }
  }

  const abandon = async () => {
    await Promise.all(groups.map(({ held }) => released(held)));
  };

  for (const arrived of parseLambdaEvent(input)) await take(arrived);
  await settleAll([...byAdvert.values()].map(claimGroup), abandon);
  deliveries.push(...groups.flatMap((group) => group.deliveries));

  return {
    deliveries,
    skipped,
    abandon,
    async close(failed = []) {
      const failures = new Set([...inBatch.map(({ itemIdentifier }) => itemIdentifier), ...failed]);
      await settleAll(
        groups.map(async ({ held, deliveries: ours }) => {
          const firstFailed = ours.findIndex(
            ({ messageId }) => messageId !== undefined && failures.has(messageId),
          );
          const done = firstFailed === -1 ? ours : ours.slice(0, firstFailed);
          for (const { messageId } of ours.slice(done.length)) if (messageId) failures.add(messageId);
          const last = done.at(-1);
          if (!last) return await released(held);
          try {
            await held.confirm(last.event);
          } catch (error) {
            // What cannot be remembered comes again; where there is no list of failures, Lambda sees the error.
            for (const { messageId } of done) {
              if (messageId === undefined) throw error;
              failures.add(messageId);
            }
          }
        }),
      );
      return { batchItemFailures: [...failures].map((itemIdentifier) => ({ itemIdentifier })) };
    },
  };
}

const isAuthorization = (event: BridgeEvent): event is AuthorizationEvent =>
  !('data' in event.detail && 'advertId' in event.detail.data);

const messageIdOf = (record: SqsRecord | undefined): string | undefined =>
  record && ('messageId' in record ? record.messageId : 'MessageId' in record ? record.MessageId : undefined);
const bodyOf = (record: SqsRecord | undefined): string | undefined =>
  record && ('body' in record ? record.body : 'Body' in record ? record.Body : undefined);

/** Waits for all, then throws the first error: nothing may still be under way when the caller goes on. */
async function settleAll(work: readonly Promise<void>[], afterFault = async () => {}): Promise<void> {
  const results = await Promise.allSettled(work);
  const failed = results.find((result) => result.status === 'rejected');
  if (!failed) return;
  await afterFault();
  throw failed.reason;
}

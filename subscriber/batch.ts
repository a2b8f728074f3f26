import type { BatchAnswer } from './failures.ts';
import type { Delivery } from './handler.ts';
import {
  beginInvocation,
  type ClaimedAdvert,
  type HandlerOptions,
  handlerExpectations,
  type LambdaContext,
} from './invocation.ts';
import { checkOptions } from './options.ts';

/** The batch handler's input, instead of the Lambda event. */
export interface AdvertBatch {
  /** The events to apply, without stale events and duplicates. Events of one advert are in order. */
  readonly deliveries: readonly Delivery[];
}

/** The part of middy's request that is used here, so that the kit does not depend on middy. */
interface Request {
  /** At first Lambda's event, then the handler's {@link AdvertBatch}: middy has one type for both. */
  event: AdvertBatch;
  response?: unknown;
  error?: Error | null | undefined;
  readonly context: LambdaContext;
  readonly internal: object;
}

/**
 * Like `advertEventHandler`, but your function receives all events of a batch at once, so that it can write them
 * together. Your function returns nothing if it has applied all events, and `{ batchItemFailures }` for those that it
 * has not applied. If it throws, no event counts as applied. If a message fails, all later messages of the same advert
 * are delivered again too.
 *
 * @throws {TypeError} for wrong options, when the handler is created
 */
export function advertBatchHandler(
  options: HandlerOptions,
  // biome-ignore lint/suspicious/noConfusingVoidType: most handlers return nothing.
  handle: (batch: AdvertBatch) => Promise<BatchAnswer | undefined | void>,
): (event: unknown, context?: LambdaContext) => Promise<BatchAnswer> {
  checkOptions('advertBatchHandler', options, handlerExpectations);
  return async (event, context) => {
    const batch = await openBatch(event, options, context);
    let answer: unknown;
    try {
      answer = await handle({ deliveries: batch.deliveries });
    } catch (error) {
      await batch.abandon();
      throw error;
    }
    return await batch.close(answer);
  };
}

/**
 * The batch handler as a middy middleware: it calls your handler with an {@link AdvertBatch}.
 *
 * @throws {TypeError} for wrong options, when the middleware is created
 */
export function advertBatchMiddleware(options: HandlerOptions) {
  checkOptions('advertBatchMiddleware', options, handlerExpectations);
  // Keyed by request, because one function instance may handle several requests at a time.
  const open = new WeakMap<object, OpenBatch>();

  return {
    async before(request: Request): Promise<void> {
      const batch = await openBatch(request.event, options, request.context);
      open.set(request.internal, batch);
      request.event = { deliveries: batch.deliveries };
    },
    async after(request: Request): Promise<void> {
      const batch = open.get(request.internal);
      // If this fails, middy calls onError, which must not release claims that are already confirmed.
      open.delete(request.internal);
      request.response = await batch?.close(request.response);
    },
    async onError(request: Request): Promise<void> {
      await open.get(request.internal)?.abandon();
      open.delete(request.internal);
    },
  };
}

interface OpenBatch extends AdvertBatch {
  /**
   * Records that everything was applied, except for the messages in the handler's answer.
   *
   * @throws {TypeError} if the answer contains a message that is not in this batch; then nothing counts as applied
   */
  close(answer: unknown): Promise<BatchAnswer>;
  /** Releases the claims; nothing counts as applied. */
  abandon(): Promise<void>;
}

async function openBatch(
  input: unknown,
  options: HandlerOptions,
  context: LambdaContext | undefined,
): Promise<OpenBatch> {
  const { adverts, authorizations, claim, count, failures } = await beginInvocation(input, options, context);
  const claims: ClaimedAdvert[] = (await Promise.all(adverts.map(claim))).filter(
    (each) => each !== undefined,
  );
  const messageIds = new Set([...adverts.flat(), ...authorizations].map(({ messageId }) => messageId));
  const abandon = async () => {
    await Promise.all(claims.map(({ settle }) => settle(0)));
  };
  const withoutHistory = authorizations.map((each) => ({ ...each, outcome: 'apply' as const, missing: 0 }));
  return {
    deliveries: [...withoutHistory, ...claims.flatMap(({ toApply }) => toApply)],
    abandon,
    async close(answer) {
      const failed = failuresIn(answer);
      // Lambda returns such a batch to the queue as a whole. Events that counted as applied would then be skipped as
      // duplicates.
      if (!failed?.every((messageId) => messageIds.has(messageId))) {
        await abandon();
        throw new TypeError(notOfBatch);
      }
      failures.giveBack(failed, undefined);
      await Promise.all(
        claims.map(async ({ toApply, settle }) => {
          const firstFailed = toApply.findIndex(({ messageId }) => failures.has(messageId));
          const applied = firstFailed === -1 ? toApply.length : firstFailed;
          failures.giveBack(
            toApply.slice(applied).map(({ messageId }) => messageId),
            undefined,
          );
          await settle(applied);
        }),
      );
      return failures.answer(count);
    },
  };
}

const notOfBatch =
  'the handler returned a failed message that is not in this batch: expected the messageId of a delivery as itemIdentifier. ' +
  'Nothing counts as applied';

/** The message IDs in the answer; `undefined` if the answer does not have Lambda's format. */
function failuresIn(answer: unknown): string[] | undefined {
  const { batchItemFailures } = (answer ?? {}) as { batchItemFailures?: unknown };
  const items = batchItemFailures ?? [];
  if (!Array.isArray(items)) return undefined;
  const messageIds = items.map((item) => item?.itemIdentifier);
  return messageIds.every((messageId) => typeof messageId === 'string') ? messageIds : undefined;
}

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

/** What the batch form hands over in place of the Lambda event. */
export interface AdvertBatch {
  /** The events to apply: those of one advert in order, none stale, none twice. */
  readonly deliveries: readonly Delivery[];
}

/** As much of middy's request as is used, so that the kit does not depend on middy. */
interface Request {
  /** Comes as Lambda's event, goes to the handler as an {@link AdvertBatch}: middy knows one type for both. */
  event: AdvertBatch;
  response?: unknown;
  error?: Error | null | undefined;
  readonly context: LambdaContext;
  readonly internal: object;
}

/**
 * Like `advertEventHandler`, but your function gets all events of a batch at once, to write them in one go. It returns nothing
 * when all is applied, `{ batchItemFailures }` for what is not, and throws when nothing counts. Of an advert with a
 * failed message, all later ones come again too.
 *
 * @throws {TypeError} when it is made with wrong options
 */
export function advertBatchHandler(
  options: HandlerOptions,
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing is what is usual here.
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
 * The batch form as a middy middleware: the handler behind it is called with an {@link AdvertBatch}.
 *
 * @throws {TypeError} when it is made with wrong options
 */
export function advertBatchMiddleware(options: HandlerOptions) {
  checkOptions('advertBatchMiddleware', options, handlerExpectations);
  // By request: one function instance may be given several at a time.
  const open = new WeakMap<object, OpenBatch>();

  return {
    async before(request: Request): Promise<void> {
      const batch = await openBatch(request.event, options, request.context);
      open.set(request.internal, batch);
      request.event = { deliveries: batch.deliveries };
    },
    async after(request: Request): Promise<void> {
      const batch = open.get(request.internal);
      // What fails in here reaches onError, which must not end claims that were confirmed.
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
   * Everything has been applied but the messages that the handler's answer names.
   *
   * @throws {TypeError} when it names none of this batch; nothing counts as applied then
   */
  close(answer: unknown): Promise<BatchAnswer>;
  /** Nothing counts as applied; the claims end. */
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
      // Lambda gives such a batch back as a whole, and what counted as applied would be left out then.
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
  'the handler answered with a failed message that is not of this batch: expected as itemIdentifier the messageId of a delivery. ' +
  'Nothing counts as applied';

/** The messages that the answer names; `undefined` when it is in another form than Lambda's. */
function failuresIn(answer: unknown): string[] | undefined {
  const { batchItemFailures } = (answer ?? {}) as { batchItemFailures?: unknown };
  const items = batchItemFailures ?? [];
  if (!Array.isArray(items)) return undefined;
  const messageIds = items.map((item) => item?.itemIdentifier);
  return messageIds.every((messageId) => typeof messageId === 'string') ? messageIds : undefined;
}

import { createQueueShares } from '../../shared/aws/queue-shares.ts';
import { createBatchSettler } from '../../shared/aws/settler.ts';
import { createChangedAdvertsQueue, type Queue } from '../../shared/aws/sqs.ts';
import type { Aside } from '../../shared/state/aside.ts';
import { sqsInbox } from '../helpers/aws/sqs-inbox.ts';
import { createRecordingObserver } from '../helpers/recording-observer.ts';

/** Time is the emulator's own, and counting is another table's business: what needs either is shown elsewhere. */
export const sqsCapabilities = { controlsTime: false, deduplicates: true };

/**
 * The SQS queue for the suite of the changed adverts' queue.
 *
 * @param aside default: messages aside are not stored
 */
export function sqsQueue(queue: Queue, aside: Pick<Aside, 'store'> = { store: async () => new Map() }) {
  const settler = createBatchSettler({
    queue,
    books: { add: async () => {} },
    observer: createRecordingObserver(),
    aside,
  });
  const clock = hurriedClock();
  const changedAdverts = createChangedAdvertsQueue({
    queue,
    shares: createQueueShares({ maxRequestsPerSecond: 10, wholeFrom: 15_000, clock }),
    clock,
  });
  return {
    ...changedAdverts,
    ...sqsInbox(queue, settler),
  };
}

/** A minute passes between two reads, so the queue's count is requested every time. */
function hurriedClock() {
  let now = 0;
  return {
    now: () => {
      now += 60_000;
      return now;
    },
    sleep: async () => {},
  };
}

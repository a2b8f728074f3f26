import type { CloudFormationClient } from '@aws-sdk/client-cloudformation';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type Clock, systemClock } from '../../shared/domain/clock.ts';

/** A `Date` has whole seconds, and an answer takes some. */
const toleranceMs = 10_000;

/**
 * The clock by which the stack's functions read what a command writes: this machine's may be minutes off, and then a
 * pause would end at another time, or would not begin. It is AWS's, by the `Date` of the latest answer.
 */
export function createStackClock(...clients: readonly (CloudFormationClient | DynamoDBClient)[]): Clock {
  let offsetMs = 0;
  for (const client of clients as readonly CloudFormationClient[]) {
    client.middlewareStack.add(
      (next) => async (request) => {
        const result = await next(request);
        const { headers } = result.response as { readonly headers?: Readonly<Record<string, string>> };
        const differsMs = Date.parse(headers?.date ?? '') - Date.now();
        if (!Number.isNaN(differsMs)) offsetMs = Math.abs(differsMs) > toleranceMs ? differsMs : 0;
        return result;
      },
      // Next to the wire: it sees refusals, too.
      { step: 'deserialize', priority: 'low', name: 'stackClock' },
    );
  }
  return { ...systemClock, now: () => Date.now() + offsetMs };
}

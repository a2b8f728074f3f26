import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import { checkedJson } from '../contract/checks.ts';
import { type RefreshEvent, type RefreshOutcome, refreshOutcome } from '../contract/invocations.ts';
import { type Clock, systemClock } from '../domain/clock.ts';
import { asBridgeFault, type FaultKind } from '../domain/faults.ts';
import type { RefreshRequester } from '../ports/tokens.ts';

export interface InvokedFunction {
  readonly client: LambdaClient;
  readonly functionName: string;
}

/**
 * Invokes the refresh-token function, and waits for its answer at most until the caller's deadline; the function
 * finishes its work anyway. Neither the request nor the answer contains a token.
 */
export function createRefreshRequester(fn: InvokedFunction, clock: Clock = systemClock): RefreshRequester {
  return {
    async refresh(request, { deadlineMs }) {
      const leftMs = deadlineMs - clock.now();
      if (leftMs <= 0) return refreshFailure('no time left to ask for a refresh');
      const event: RefreshEvent = { action: 'refresh', ...request };
      try {
        // A deadline that contains slots of the rate budget has fractions of a millisecond, which `timeout` rejects.
        const answer = await invoke(fn, event, AbortSignal.timeout(Math.ceil(leftMs)));
        return checkedJson(refreshOutcome, answer, 'answer of refresh-token');
      } catch (error) {
        const reason =
          error instanceof Error ? `${error.name}: ${error.message}` : 'refresh-token was not reached';
        // An answer in another shape is of another version, which is being deployed.
        return refreshFailure(
          reason,
          asBridgeFault(error).code === 'resource-unusable' ? 'resource-unusable' : 'transient',
        );
      }
    },
  };
}

const refreshFailure = (reason: string, fault: FaultKind = 'transient'): RefreshOutcome => ({
  kind: 'failed',
  fault,
  reason,
});

/**
 * @returns the answer of a function, as JSON text
 * @throws `FunctionError` when it ended with an error, which it has logged itself
 */
export async function invoke(
  { client, functionName }: InvokedFunction,
  request: unknown,
  abortSignal?: AbortSignal,
): Promise<string> {
  const { FunctionError: code, Payload } = await client.send(
    new InvokeCommand({ FunctionName: functionName, Payload: JSON.stringify(request) }),
    { abortSignal },
  );
  // The payload of a failure is not used, because it contains an error message that is not meant to be shown.
  if (code) {
    const error = new Error(`${functionName} failed (${code}): its log says why`);
    throw Object.assign(error, { name: 'FunctionError', code });
  }
  return Payload ? Buffer.from(Payload).toString('utf8') : '';
}

import { setTimeout as sleep } from 'node:timers/promises';
import {
  GetFunctionConfigurationCommand,
  InvokeCommand,
  UpdateFunctionConfigurationCommand,
} from '@aws-sdk/client-lambda';
import type { Cloud } from '../emulator/cloud.ts';

/** A drain's answer about its polls. */
export interface DrainReport {
  readonly polls: readonly {
    readonly partnerAccount: string;
    readonly end: string;
    readonly listed: number;
  }[];
  readonly stopped: readonly string[];
}

/** @throws {Error} when the function fails */
export async function invoke(cloud: Cloud, functionName: string, event: object = {}): Promise<unknown> {
  const { FunctionError, Payload } = await cloud.lambda.send(
    new InvokeCommand({ FunctionName: functionName, Payload: JSON.stringify(event) }),
  );
  const text = Payload ? Buffer.from(Payload).toString('utf8') : 'null';
  if (FunctionError) throw new Error(`${functionName} failed: ${text}`);
  return JSON.parse(text);
}

/**
 * Does what the schedule does, and repeats it while another run is polling, because the real schedule is active too. A
 * run that was killed, as a new deployment kills it on the emulator, keeps its leases for 90 s.
 *
 * @throws {Error} unless every feed was read to its end
 */
export async function drain(cloud: Cloud, functionName: string, timeoutMs = 150_000): Promise<DrainReport> {
  const until = Date.now() + timeoutMs;
  for (;;) {
    const report = (await attempt(cloud, functionName)) as DrainReport | undefined;
    const open = report?.polls.filter(({ end }) => end !== 'up-to-date') ?? [];
    if (report && open.length === 0) return report;
    const busy = open.every(({ end }) => ['held', 'lease-lost', 'just-polled'].includes(end));
    if (!busy || Date.now() > until) throw new Error(`the drain did not end well: ${JSON.stringify(report)}`);
    await sleep(500);
  }
}

/** @returns undefined when the scheduled run uses the only concurrent execution */
async function attempt(cloud: Cloud, functionName: string): Promise<unknown> {
  try {
    return await invoke(cloud, functionName);
  } catch (error) {
    if (error instanceof Error && error.name === 'TooManyRequestsException') return undefined;
    throw error;
  }
}

/** Changes some variables of a function, as a person would by hand. */
export async function changeVariables(
  { lambda }: Cloud,
  FunctionName: string,
  changed: Readonly<Record<string, string>>,
): Promise<void> {
  const { Environment } = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName }));
  const Variables = { ...Environment?.Variables, ...changed };
  await lambda.send(new UpdateFunctionConfigurationCommand({ FunctionName, Environment: { Variables } }));
}

import { InvokeCommand } from '@aws-sdk/client-lambda';
import { until } from '../../helpers/until.ts';
import type { Cloud } from '../emulator/cloud.ts';

/** A drain's answer about its polls. */
export interface DrainReport {
  readonly polls: readonly {
    readonly partnerAccount: string;
    readonly end: string;
    readonly listed: number;
  }[];
}

/** @throws {Error} when the function fails */
export async function invoke({ lambda }: Cloud, FunctionName: string, event: object = {}): Promise<unknown> {
  const { FunctionError, Payload } = await lambda.send(
    new InvokeCommand({ FunctionName, Payload: JSON.stringify(event) }),
  );
  const text = Payload ? Buffer.from(Payload).toString('utf8') : 'null';
  if (FunctionError) throw new Error(`${FunctionName} failed: ${text}`);
  return JSON.parse(text);
}

/**
 * Does what the schedule does, and repeats it while another run is polling, because the real schedule is active too. A
 * run that was killed, as a new deployment kills it on the emulator, keeps its leases for 90 s.
 *
 * @throws {Error} unless every feed was read to its end
 */
export async function drain(cloud: Cloud, functionName: string): Promise<void> {
  const look = async () => {
    const { polls } = (await invoke(cloud, functionName)) as DrainReport;
    const open = polls.filter(({ end }) => end !== 'up-to-date');
    if (open.every(({ end }) => ['held', 'lease-lost', 'just-polled'].includes(end)))
      return open.length === 0;
    throw new Error(`the drain did not end well: ${JSON.stringify(open)}`);
  };
  await until('every feed is read to its end', look, { withinMs: 150_000, everyMs: 500 });
}

/**
 * What goes over the wire to AWS, in the units that AWS bills: counted by a server that stands before the emulators, so
 * that nothing of the functions has to be changed or trusted.
 */
import { type Answer, type AwsCall, type Forward, startRecordingProxy } from './recording-proxy.ts';

/** Of one kind of call, such as `dynamodb PutItem`. */
export interface Calls {
  calls: number;
  /** Of SQS: requests as they are billed, one for each 64 KB begun. Of EventBridge: events, likewise. */
  billed: number;
  /** Of DynamoDB, as the emulator says by `ReturnConsumedCapacity`. */
  readUnits: number;
  writeUnits: number;
  /** Of EventBridge: bytes of the events, which the archive is paid by. */
  bytes: number;
}

const none: Calls = { calls: 0, billed: 0, readUnits: 0, writeUnits: 0, bytes: 0 };

export type Count = Readonly<Record<string, Readonly<Calls>>>;

export type OnCall = (operation: string, body: string, call: AwsCall) => void;

export interface Targets {
  readonly dynamodb: string;
  readonly sqs: string;
  /** Plays every other service. @param operation such as `secretsmanager GetSecretValue` */
  play(operation: string, body: string): Promise<Answer>;
  /** Told of each call before it is answered. */
  readonly onCall?: OnCall | undefined;
}

/** SQS and EventBridge bill every 64 KB begun as one. */
const chunkBytes = 64 * 1024;
const chunks = (bytes: number): number => Math.max(1, Math.ceil(bytes / chunkBytes));

export async function startWire(targets: Targets) {
  let count: Record<string, Calls> = {};

  async function serve(call: AwsCall, forward: Forward): Promise<Answer> {
    const { service, operation: name, input } = call;
    const operation = `${service} ${name}`;
    const body = service === 'lambda' ? String(input.Payload) : JSON.stringify(input);
    targets.onCall?.(operation, body, call);
    count[operation] ??= { ...none };
    const calls = count[operation];
    calls.calls += 1;
    if (service === 'dynamodb') {
      const asked = JSON.stringify({ ...input, ReturnConsumedCapacity: 'TOTAL' });
      const answer = await forward(targets.dynamodb, asked);
      addUnits(calls, operation, answer);
      return answer;
    }
    if (service === 'sqs') {
      const answer = await forward(targets.sqs);
      calls.billed += chunks(Math.max(body.length, name.startsWith('Receive') ? answer.body.length : 0));
      return answer;
    }
    if (name === 'PutEvents') {
      for (const entry of input.Entries as readonly object[]) {
        const { length } = JSON.stringify(entry);
        calls.billed += chunks(length);
        calls.bytes += length;
      }
    } else calls.billed += 1;
    return targets.play(operation, body);
  }

  const proxy = await startRecordingProxy(serve);
  return {
    url: proxy.url,
    /** The counts since the last call, which resets them. */
    take(): Count {
      const taken = count;
      count = {};
      return taken;
    },
    stop: proxy.stop,
  };
}

const writes = /PutItem|UpdateItem|DeleteItem|BatchWriteItem/;

function addUnits(calls: Calls, operation: string, { status, body }: Answer): void {
  const { ConsumedCapacity } = JSON.parse(body);
  const consumed: { CapacityUnits: number }[] = [ConsumedCapacity ?? []].flat();
  // A failed condition costs as much as the write: one unit, because no item here exceeds 1 KB.
  const units = status === 200 ? consumed.reduce((sum, { CapacityUnits }) => sum + CapacityUnits, 0) : 1;
  if (writes.test(operation)) calls.writeUnits += units;
  else calls.readUnits += units;
}

/**
 * Both kinds of event bus on loopback: JSON 1.1 for the classic bus, CBOR for the custom one, which drops what it has
 * accepted with the same deduplication ID and group within 300 s. A missing classic bus answers success, and drops all.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { cbor } from '@smithy/core/cbor';

/** Of a whole call. */
const refusals = {
  throttled: 'ThrottlingException',
  denied: 'AccessDeniedException',
  missing: 'ResourceNotFoundException',
  expired: 'ExpiredTokenException',
  unseen: 'AccessDeniedException',
} as const;

export type BusFault =
  /** The second entry of the call is refused. */
  | 'second-entry'
  /** The bus accepts the entries, but the answer is lost. */
  | 'answer-lost'
  | keyof typeof refusals;

/** An entry, of either kind of bus. */
interface Entry {
  readonly Source: string;
  readonly Detail: string;
  readonly SystemMetadata?: { readonly EventGroupId: string; readonly DeduplicationId: string };
}

interface Accepted {
  readonly eventId: string;
  readonly group: string | undefined;
}

export async function startBuses(now: () => number = Date.now) {
  const faults: BusFault[] = [];
  const accepted: Accepted[] = [];
  const calls: (readonly Entry[])[] = [];
  const seen = new Map<string, number>();
  const expiredKeys = new Set<string | undefined>();
  let looks = 0;

  function resultOf(entry: Entry) {
    const { EventGroupId: group, DeduplicationId } = entry.SystemMetadata ?? {};
    const known = `${group} ${DeduplicationId}`;
    if (DeduplicationId && now() - (seen.get(known) ?? Number.NEGATIVE_INFINITY) < 300_000)
      return { EventId: known, SuccessCode: 'DEDUPLICATED' };
    seen.set(known, now());
    accepted.push({ eventId: JSON.parse(entry.Detail).metadata.eventId, group });
    return { EventId: `event-${accepted.length}`, ...(group && { SuccessCode: 'PUBLISHED' }) };
  }

  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const isCustom = request.url?.startsWith('/service/AWSEventsV2/operation/') ?? false;
    const operation = isCustom ? request.url : String(request.headers['x-amz-target']);
    const { Entries = [] } = (isCustom ? cbor.deserialize(body) : JSON.parse(String(body))) as {
      Entries?: Entry[];
    };
    const isLook = operation?.endsWith('DescribeEventBus');
    if (isLook) looks += 1;
    else calls.push(Entries);
    const answer = (status: number, value: object) => {
      response.statusCode = status;
      response.setHeader('Content-Type', isCustom ? 'application/cbor' : 'application/x-amz-json-1.1');
      if (isCustom) response.setHeader('smithy-protocol', 'rpc-v2-cbor');
      response.end(isCustom ? cbor.serialize(value) : JSON.stringify(value));
    };
    const [, key] = request.headers.authorization?.match(/Credential=(\w+)/) ?? [];
    if (expiredKeys.has(key)) return answer(400, { __type: refusals.expired, message: 'not now' });
    if (isLook && !/^(missing|unseen)$/.test(faults[0] ?? '')) return answer(200, { Name: 'adverts' });
    const fault = faults.shift();
    if (!isLook && !isCustom && fault === 'missing')
      return answer(200, { Entries: Entries.map(() => ({ EventId: 'dropped' })), FailedEntryCount: 0 });
    if (fault && fault in refusals)
      return answer(400, { __type: refusals[fault as keyof typeof refusals], message: 'not now' });
    const results = Entries.map((entry, index) =>
      fault === 'second-entry' && index === 1 ? { ErrorCode: 'InternalException' } : resultOf(entry),
    );
    if (fault === 'answer-lost') return void request.socket.destroy();
    const failed = results.filter((result) => 'ErrorCode' in result).length;
    // The custom bus may leave the count out when all went well.
    answer(200, { Entries: results, ...((failed > 0 || !isCustom) && { FailedEntryCount: failed }) });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    config: {
      region: 'eu-west-1',
      endpoint: `http://127.0.0.1:${port}`,
      credentials: { accessKeyId: 'AKIA', secretAccessKey: 'secret' },
    },
    accepted: accepted as readonly Accepted[],
    /** How often somebody asked whether a bus is there. */
    looks: () => looks,
    calls: calls as readonly (readonly Entry[])[],
    /** The next calls have these faults. */
    fail: (...next: readonly BusFault[]) => void faults.push(...next),
    /** From now on, AWS refuses this access key. */
    expire: (key: string) => void expiredKeys.add(key),
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

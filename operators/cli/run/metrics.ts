/** What a monitoring system asks of a run: Prometheus text at /metrics, a health answer at /health. */
import { createServer } from 'node:http';
import packageJson from '../../../package.json' with { type: 'json' };
import { isLoopback } from '../../../shared/contract/settings.ts';
import { deliveryVerdict, type Finding } from '../../operations/findings/findings.ts';
import type { Status } from '../../operations/printed.ts';
import { closeServer, listenOn } from '../shared/loopback.ts';

interface Looked {
  readonly status: Status;
  readonly findings: readonly Finding[];
}
type Labels = Readonly<Record<string, string>>;
type Sample = readonly [value: number | null | undefined, labels?: Labels];
type SamplesOf = (status: Status, findings: readonly Finding[]) => readonly Sample[];

const labelled = (label: string, values: object, more: Labels = {}) =>
  Object.entries(values).map(([key, value]): Sample => [value, { ...more, [label]: key }]);
const ofAccounts =
  (pick: (account: Status['partnerAccounts'][number]) => number | null): SamplesOf =>
  ({ partnerAccounts }) =>
    partnerAccounts.map((account) => [pick(account), { partner_account: account.name }]);

/** All are gauges: the books begin at 0 again when a partner account gets a new history. */
const gauges: Readonly<Record<string, readonly [help: string, samplesOf: SamplesOf]>> = {
  info: ['the version of the bridge', () => [[1, { version: packageJson.version }]]],
  lag_seconds: ['how long a feed is behind', ofAccounts(({ lagSeconds }) => lagSeconds)],
  polling: [
    '1: the partner account is polled; 0: paused or stopped',
    ofAccounts(({ state }) => Number(state === 'polling')),
  ],
  changes: [
    'the books of a partner account, by outcome',
    ({ partnerAccounts }) =>
      partnerAccounts.flatMap(({ name, books }) => labelled('outcome', books, { partner_account: name })),
  ],
  waiting: ['messages in the queue', ({ queue }) => [[queue.waiting]]],
  oldest_waiting_seconds: [
    'how long the oldest change waits',
    ({ queue, oldestWaitingSeconds }) => [[queue.waiting > 0 ? oldestWaitingSeconds : 0]],
  ],
  dead_letters: ['messages that were given up', ({ queue }) => [[queue.deadLetters]]],
  budget_reserved_seconds: [
    'how long a new request waits for the rate budget',
    ({ budget }) => [[budget.reservedSeconds]],
  ],
  answers: [
    'answers of the service in the last quarter of an hour',
    ({ answers }) => labelled('answer', answers?.counts ?? {}),
  ],
  answer_milliseconds: ['how long an answer took on average', ({ answers }) => [[answers?.meanMs]]],
  rate_used: ['the part of the request rate that was used, 0 to 1', ({ answers }) => [[answers?.rateUsed]]],
  held: [
    '1: the service asked for a pause, or blocks the address',
    ({ pausedUntil }) => [[Number(pausedUntil !== null)]],
  ],
  webhook_waiting: [
    'events that a webhook has not received',
    ({ webhooks = [] }) => webhooks.map(({ address, waiting }) => [waiting, { webhook: address }]),
  ],
  findings: [
    'what is wrong, by severity',
    (_, findings) => {
      const severities = { fault: 0, attention: 0, note: 0 };
      for (const { severity } of findings) severities[severity] += 1;
      return labelled('severity', severities);
    },
  ],
};

/** The figures of a status, in the text format of Prometheus; a figure that is not known is left out. */
function metricsText({ status, findings }: Looked): string {
  const families = Object.entries(gauges).map(([gauge, [help, samplesOf]]) => {
    const name = `advert_bridge_${gauge}`;
    const lines = samplesOf(status, findings).flatMap(([value, labels = {}]) => {
      const parts = Object.entries(labels).map(([label, text]) => `${label}=${JSON.stringify(text)}`);
      const braced = parts.length > 0 ? `{${parts.join(',')}}` : '';
      return value === null || value === undefined ? [] : `${name}${braced} ${value}\n`;
    });
    return lines.length === 0 ? '' : `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${lines.join('')}`;
  });
  return families.join('');
}

/** A status reads the whole state: whoever asks more often gets the same one. */
const keptMs = 1_000;
/** More than monitoring systems of one machine have open. */
const maxConnections = 32;
/** A connection that sends no whole request for so long, or takes no answer, makes room for another one. */
const idleMs = 10_000;

/** Listens on loopback. No answer contains a secret, so every user of the machine may ask. */
export async function serveMetrics(port: number, look: () => Promise<Looked>, limits = { idleMs }) {
  let kept: Promise<Looked | undefined> | undefined;
  const forget = () => {
    kept = undefined;
  };
  async function lookOnce() {
    const looked = await look().catch(() => undefined);
    setTimeout(forget, keptMs).unref();
    return looked;
  }
  const times = {
    headersTimeout: limits.idleMs,
    requestTimeout: limits.idleMs,
    connectionsCheckingInterval: limits.idleMs,
  };
  const server = createServer(times, async (request, response) => {
    const end = (status: number, body = '', type = 'text/plain') =>
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
    const path = URL.parse(request.url ?? '', 'http://127.0.0.1')?.pathname;
    // A page of another site whose name resolves to this machine sends that name.
    if (!isLoopback(URL.parse(`http://${request.headers.host}`)?.hostname ?? '')) return end(421);
    if (request.method !== 'GET') return end(405);
    if (path !== '/metrics' && path !== '/health') return end(404);
    kept ??= lookOnce();
    const looked = await kept;
    if (!looked) return end(503, 'the state cannot be read\n');
    if (path === '/metrics') return end(200, metricsText(looked), 'text/plain; version=0.0.4');
    const { says: delivery } = deliveryVerdict(looked.status, looked.findings);
    return end(200, JSON.stringify({ delivery }), 'application/json');
  });
  server.maxConnections = maxConnections;
  server.timeout = limits.idleMs;
  const address = `http://127.0.0.1:${await listenOn(server, port)}/metrics`;
  return { address, close: () => closeServer(server) };
}

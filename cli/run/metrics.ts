/** What a monitoring system asks of a run: Prometheus text at /metrics, a health answer at /health. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deliveryText, type Finding } from '../../operations/findings.ts';
import type { ShownAnswers, Status } from '../../operations/status.ts';
import { isLoopback } from '../../shared/contract/settings.ts';
import { listenError } from '../shared/usage.ts';

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [value: number | null, labels?: Labels];

/** The figures of a status, in the text format of Prometheus; a figure that is not known is left out. */
function metricsText(status: Status, findings: readonly Finding[], version: string): string {
  const { partnerAccounts, queue, oldestWaitingSeconds, budget, pausedUntil, webhooks = [] } = status;
  const each = (pick: (account: Status['partnerAccounts'][number]) => number | null) =>
    partnerAccounts.map((account): Sample => [pick(account), { partner_account: account.name }]);
  const changes = partnerAccounts.flatMap(({ name, books }) =>
    Object.entries(books).map(([outcome, value]): Sample => [value, { partner_account: name, outcome }]),
  );
  const found = (['fault', 'attention', 'note'] as const).map((severity): Sample => {
    return [findings.filter((finding) => finding.severity === severity).length, { severity }];
  });
  return [
    family('info', 'the version of the bridge', [[1, { version }]]),
    family(
      'lag_seconds',
      'how long a feed is behind',
      each(({ lagSeconds }) => lagSeconds),
    ),
    family(
      'polling',
      '1: the partner account is polled; 0: paused or stopped',
      each(({ state }) => Number(state === 'polling')),
    ),
    family('changes', 'the books of a partner account, by outcome', changes),
    family('waiting', 'messages in the queue', [[queue.waiting]]),
    family('oldest_waiting_seconds', 'how long the oldest change waits', [
      [queue.waiting > 0 ? oldestWaitingSeconds : 0],
    ]),
    family('dead_letters', 'messages that were given up', [[queue.deadLetters]]),
    family('budget_reserved_seconds', 'how long a new request waits for the rate budget', [
      [budget.reservedSeconds],
    ]),
    ...answersFamilies(status.answers),
    family('held', '1: the service asked for a pause, or blocks the address', [
      [Number(pausedUntil !== null)],
    ]),
    family(
      'webhook_waiting',
      'events that a webhook has not received',
      webhooks.map(({ address, waiting }): Sample => [waiting, { webhook: address }]),
    ),
    family('findings', 'what is wrong, by severity', found),
  ].join('');
}

function answersFamilies(answers: ShownAnswers | null): string[] {
  if (!answers) return [];
  const { counts, meanMs, rateUsed } = answers;
  const byKind = Object.entries(counts).map(([kind, value]): Sample => [value, { answer: kind }]);
  return [
    family('answers', 'answers of the service in the last quarter of an hour', byKind),
    family('answer_milliseconds', 'how long an answer took on average', [[meanMs]]),
    family('rate_used', 'the part of the request rate that was used, 0 to 1', [[rateUsed]]),
  ];
}

/** All are gauges: the books begin at 0 again when a partner account gets a new history. */
function family(name: string, help: string, samples: readonly Sample[]): string {
  const lines = samples
    .filter(([value]) => value !== null)
    .map(([value, labels = {}]) => `advert_bridge_${name}${labelsText(labels)} ${value}\n`);
  if (lines.length === 0) return '';
  return `# HELP advert_bridge_${name} ${help}\n# TYPE advert_bridge_${name} gauge\n${lines.join('')}`;
}

function labelsText(labels: Labels): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return parts.length === 0 ? '' : `{${parts.join(',')}}`;
}

export interface MetricsSource {
  readonly version: string;
  read(): Promise<{ readonly status: Status; readonly findings: readonly Finding[] }>;
}

/**
 * Listens on loopback. No answer contains a secret, so every user of the machine may ask.
 *
 * @throws {CommandError} if the port is in use
 */
export async function serveMetrics(port: number, source: MetricsSource): Promise<Server> {
  const server = createServer((request, response) => {
    const { pathname = '' } = URL.parse(request.url ?? '', 'http://127.0.0.1') ?? {};
    const host = URL.parse(`http://${request.headers.host}`)?.hostname ?? '';
    // A page of another site whose name resolves to this machine sends that name.
    if (!isLoopback(host)) end(response, 421, 'text/plain', '');
    else if (request.method !== 'GET') end(response, 405, 'text/plain', '');
    else void answer(pathname, response);
  });

  async function answer(pathname: string, response: ServerResponse): Promise<void> {
    if (!['/metrics', '/health'].includes(pathname)) return end(response, 404, 'text/plain', '');
    try {
      const { status, findings } = await source.read();
      const delivery = deliveryText(status, findings);
      if (pathname === '/health') end(response, 200, 'application/json', JSON.stringify({ delivery }));
      else end(response, 200, 'text/plain; version=0.0.4', metricsText(status, findings, source.version));
    } catch {
      end(response, 503, 'text/plain', 'the state cannot be read\n');
    }
  }

  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch((cause: unknown) => {
    throw listenError(cause, port, 'Choose another with --metrics');
  });
  return server;
}

const end = (response: ServerResponse, code: number, type: string, body: string): void => {
  response.writeHead(code, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
};

export const addressOf = (server: Server): string =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;

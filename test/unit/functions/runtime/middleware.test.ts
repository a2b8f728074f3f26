import { inspect } from 'node:util';
import type { Context } from 'aws-lambda';
import { beforeEach, expect, it, vi } from 'vitest';
import { withRuntime } from '../../../../functions/runtime/middleware.ts';
import { createTelemetry, type Telemetry } from '../../../../functions/runtime/observer.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { Secret } from '../../../../shared/domain/secret.ts';

const context = { awsRequestId: 'request-1', getRemainingTimeInMillis: () => 30_000 } as Context;
let lines: string[] = [];
const logged = () => lines.map((line) => JSON.parse(line));

beforeEach(() => {
  lines = [];
  // Without this the environment's own wish to log events would go unnoticed.
  vi.stubEnv('POWERTOOLS_LOGGER_LOG_EVENT', 'true');
  const write = (chunk: unknown) => {
    lines.push(...String(chunk).split('\n').filter(Boolean));
    return true;
  };
  vi.spyOn(process.stdout, 'write').mockImplementation(write);
  vi.spyOn(process.stderr, 'write').mockImplementation(write);
});

/** Runs a function that fails. @returns what it throws, and that as Lambda prints it */
async function failing(work: (telemetry: Telemetry) => never) {
  const telemetry = createTelemetry();
  const handler = withRuntime('drain', async () => work(telemetry), telemetry);
  const event = { action: 'connect', refreshToken: 'hidden-one' };
  const thrown = await handler(event, context).catch((error: unknown) => error);
  return { thrown, printed: inspect(thrown, { depth: 20 }) };
}

it('logs and errors of a function hold nothing that misleads their reader', async () => {
  const hostile = 'paid\u202e\u009b2Jdiap\u200b';
  const { printed } = await failing(({ observer }) => {
    observer.warn(hostile, { reason: [hostile], error: new Error(hostile) });
    throw new BridgeFault('transient', hostile, { cause: new Error(hostile) });
  });

  for (const written of [...lines, printed]) expect(written).not.toMatch(/[\u0080-\u009f\u200b\u202e]/);
  expect(logged()[0].message).toBe('paid\\u202e\\u009b2Jdiap\\u200b');
});

it('an error is logged without the event or a secret, and the call fails', async () => {
  const { thrown, printed } = await failing(({ observer }) => {
    observer.warn('asking', { token: new Secret('hidden-one'), refreshToken: 'hidden-one' });
    throw new BridgeFault('transient', 'no answer to Bearer hidden-one', {
      cause: Object.assign(new Error('reset'), { code: 'ECONNRESET', authorization: 'hidden-one' }),
    });
  });

  expect(printed).not.toContain('hidden-one');
  expect(thrown).toMatchObject({ name: 'BridgeFault', message: 'no answer to Bearer [redacted]' });
  expect(lines.join()).not.toContain('hidden-one');
  expect(logged().find(({ level }) => level === 'ERROR')).toMatchObject({
    message: 'the invocation failed',
    function: 'drain',
    function_request_id: 'request-1',
    error: { code: 'transient', cause: { code: 'ECONNRESET' } },
  });
});

it('metrics are written at the end with one dimension, also after a fault', async () => {
  await failing(({ observer }) => {
    observer.count(metrics.listed, 3);
    observer.count(metrics.feedLagSeconds, 12.5);
    throw new Error('no');
  });

  const emf = logged().find((line) => line._aws);
  expect(emf).toMatchObject({ Listed: 3, FeedLagSeconds: 12.5, service: 'advert-bridge' });
  expect(emf._aws.CloudWatchMetrics).toEqual([
    {
      Namespace: 'AdvertBridge',
      Dimensions: [['service']],
      Metrics: [
        { Name: 'Listed', Unit: 'Count' },
        { Name: 'FeedLagSeconds', Unit: 'Seconds' },
      ],
    },
  ]);
});

it('work has a deadline before the function’s own, and writes nothing else', async () => {
  const work = async (_event: unknown, { deadlineMs }: { deadlineMs: number }) => deadlineMs - Date.now();
  const leftMs = await withRuntime('drain', work, createTelemetry())({}, context);
  expect(leftMs).toBeGreaterThan(20_000);
  expect(leftMs).toBeLessThan(30_000);
  expect(lines).toEqual([]);
});

import { inspect } from 'node:util';
import type { Context } from 'aws-lambda';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { metrics } from '../../../shared/contract/names.ts';
import { BridgeFault } from '../../../shared/domain/faults.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { withRuntime } from '../../../shared/runtime/middleware.ts';
import { createTelemetry } from '../../../shared/runtime/observer.ts';

const context = (remainingMs = 60_000) =>
  ({
    awsRequestId: 'request-1',
    functionName: 'fan-out',
    functionVersion: '1',
    memoryLimitInMB: '256',
    invokedFunctionArn: 'arn',
    getRemainingTimeInMillis: () => remainingMs,
  }) as Context;

const event = { action: 'connect', refreshToken: 'hidden-one' };
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

describe('what every function has around it', () => {
  it('writes and throws nothing that hides or turns around what a reader of the log sees', async () => {
    const hostile = 'paid\u202e\u009b2Jdiap\u200b';
    const telemetry = createTelemetry();
    const handler = withRuntime(
      'drain',
      async () => {
        telemetry.observer.warn(hostile, { reason: [hostile], error: new Error(hostile) });
        throw new BridgeFault('transient', hostile, { cause: new Error(hostile) });
      },
      telemetry,
    );

    const thrown = await handler(event, context()).catch((error: unknown) => error);

    for (const written of [...lines, inspect(thrown, { depth: 20 })]) {
      expect(written).not.toMatch(/[\u0080-\u009f\u200b\u202e]/);
    }
    expect(logged()[0].message).toBe('paid\\u202e\\u009b2Jdiap\\u200b');
  });

  it('logs an error without the event or a secret, and fails the invocation', async () => {
    const telemetry = createTelemetry();
    const handler = withRuntime(
      'refresh-token',
      async () => {
        telemetry.observer.warn('asking', { token: new Secret('hidden-one'), refreshToken: 'hidden-one' });
        throw new BridgeFault('transient', 'no answer to Bearer hidden-one', {
          cause: Object.assign(new Error('reset'), { code: 'ECONNRESET', authorization: 'hidden-one' }),
        });
      },
      telemetry,
    );

    const thrown = await handler(event, context()).catch((error: unknown) => error);

    // As Lambda prints it.
    expect(inspect(thrown, { depth: 20 })).not.toContain('hidden-one');
    expect(thrown).toMatchObject({ name: 'BridgeFault', message: 'no answer to Bearer [redacted]' });
    expect(lines.join()).not.toContain('hidden-one');
    expect(logged().find(({ level }) => level === 'ERROR')).toMatchObject({
      message: 'the invocation failed',
      function: 'refresh-token',
      function_request_id: 'request-1',
      error: { code: 'transient', cause: { code: 'ECONNRESET' } },
    });
  });

  it('writes metrics at the end, also of an invocation that failed, with one dimension', async () => {
    const telemetry = createTelemetry();
    const handler = withRuntime(
      'drain',
      async () => {
        telemetry.observer.count(metrics.listed, 3);
        telemetry.observer.count(metrics.feedLagSeconds, 12.5);
        throw new Error('no');
      },
      telemetry,
    );
    await expect(handler({}, context())).rejects.toThrow('no');

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

  it('writes nothing at all when there is nothing to say', async () => {
    const telemetry = createTelemetry();
    await withRuntime('drain', async () => ({ ok: true }), telemetry)({}, context());
    expect(lines).toEqual([]);
  });

  it('gives the work a deadline before the function’s own', async () => {
    const now = Date.now();
    let deadlineMs = 0;
    const work = async (_event: unknown, runtime: { deadlineMs: number }) => {
      ({ deadlineMs } = runtime);
    };
    await withRuntime('drain', work, createTelemetry())({}, context(30_000));
    expect(deadlineMs - now).toBeGreaterThan(20_000);
    expect(deadlineMs - now).toBeLessThan(30_000);
  });
});

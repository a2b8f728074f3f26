import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { cbor } from '@smithy/core/cbor';
import { expect, it, onTestFinished } from 'vitest';
import { customEventBusClient, listSubscribers } from '../../../../shared/aws/custom-event-bus.ts';

const arn = `arn:aws:events:eu-west-1:111122223333:event-busv2/adverts/${'a1b2c'.repeat(5)}`;
const pages: readonly object[] = [
  { Subscribers: [{ Name: 'search', State: 'RUNNING' }], NextToken: 'more' },
  { Subscribers: [{ Name: 'mail', State: 'STOPPED', Revoked: true }] },
];

it('lists the subscribers of a Custom Event Bus on all pages', async () => {
  const asked: unknown[] = [];
  const server = createServer(async (request, response) => {
    asked.push([request.url, cbor.deserialize(await buffer(request))]);
    response.setHeader('smithy-protocol', 'rpc-v2-cbor');
    response.setHeader('Content-Type', 'application/cbor');
    response.end(cbor.serialize(pages[asked.length - 1]));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const client = customEventBusClient({
    ...{ region: 'eu-west-1', endpoint: `http://127.0.0.1:${port}` },
    credentials: { accessKeyId: 'AKIA', secretAccessKey: 'secret' },
  });

  expect(await listSubscribers(client, arn)).toEqual([
    { Name: 'search', State: 'RUNNING' },
    { Name: 'mail', State: 'STOPPED', Revoked: true },
  ]);
  const path = '/service/AWSEventsV2/operation/ListSubscribers';
  expect(asked).toEqual([
    [path, { EventBusArn: arn }],
    [path, { EventBusArn: arn, NextToken: 'more' }],
  ]);
});

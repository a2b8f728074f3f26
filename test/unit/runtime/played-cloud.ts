import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface PutEvents {
  readonly Entries: readonly { readonly DetailType: string; readonly Detail: string }[];
}

/** One server that plays Secrets Manager, EventBridge and the partner service, just enough for a handler. */
export async function playCloud() {
  const secrets = new Map<string, unknown>();
  const adverts = new Map<string, { readonly status: number; readonly body: unknown }>();
  const published: unknown[] = [];

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const give = (status: number, body: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    const target = request.headers['x-amz-target'];
    const input = target ? JSON.parse(Buffer.concat(chunks).toString()) : undefined;
    if (target === 'secretsmanager.GetSecretValue') {
      const found = secrets.get(input.SecretId);
      if (!found) return give(400, { __type: 'ResourceNotFoundException' });
      return give(200, { SecretString: JSON.stringify(found), VersionId: 'version-1' });
    }
    if (target === 'AWSEvents.PutEvents') {
      const { Entries } = input as PutEvents;
      published.push(
        ...Entries.map(({ DetailType, Detail }) => ({ DetailType, ...JSON.parse(Detail).data })),
      );
      return give(200, {
        FailedEntryCount: 0,
        Entries: Entries.map((_, index) => ({ EventId: String(index) })),
      });
    }
    const advert = adverts.get(request.url ?? '');
    return advert ? give(advert.status, advert.body) : give(503, {});
  }

  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    secrets,
    adverts,
    published,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

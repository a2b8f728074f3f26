import { beforeEach, describe, expect, it } from 'vitest';
import { createTokenRequests } from '../../../../functions/refresh-token/token-requests.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { type Application, Secret } from '../../../../shared/domain/secret.ts';
import type { Grant, ReceivedTokens } from '../../../../shared/ports/tokens.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';

const credentials = (id: string, secret: string): Application => ({
  clientId: new Secret(id),
  clientSecret: new Secret(secret),
});
const options = { deadlineMs: 1 };

/** The application's secret, and a token endpoint that takes one pair of credentials. */
function createEndpoint(clock = createManualClock()) {
  let stored: () => Application = () => credentials('id', 'right');
  let accepted = 'id:right';
  let reads = 0;
  const asked: [used: string, grant: Grant][] = [];
  let answer: () => ReceivedTokens['answer'] = () => ({ access_token: 'a' });
  const deps = {
    clock,
    application: {
      async read() {
        reads += 1;
        return stored();
      },
    },
    endpoint: {
      async requestTokens({ clientId, clientSecret }: Application, grant: Grant): Promise<ReceivedTokens> {
        const used = `${clientId.reveal()}:${clientSecret.reveal()}`;
        asked.push([used, grant]);
        if (used !== accepted) throw new BridgeFault('client-rejected', 'who are you');
        return { answer: answer(), sentAt: 1, receivedAt: 2, serviceTime: 2 };
      },
    },
  };
  return {
    ...{ deps, clock, asked, reads: () => reads },
    store: (application: () => Application) => {
      stored = application;
    },
    accept: (pair: string) => {
      accepted = pair;
    },
    answer: (next: () => ReceivedTokens['answer']) => {
      answer = next;
    },
  };
}

describe('token requests', () => {
  const grant = { type: 'client_credentials', scope: 'v2' } as const;
  let endpoint: ReturnType<typeof createEndpoint>;
  let request: () => Promise<ReceivedTokens>;
  beforeEach(() => {
    endpoint = createEndpoint();
    const requestTokens = createTokenRequests(endpoint.deps);
    request = () => requestTokens(grant, options);
  });
  const used = () => endpoint.asked.map(([pair]) => pair);

  it.each([
    ['the client ID', 'new-id', 'right'],
    ['the client secret', 'id', 'new'],
  ])('are made again when %s has been replaced', async (_what, id, secret) => {
    await request();
    endpoint.store(() => credentials(id, secret));
    endpoint.accept(`${id}:${secret}`);

    await request();

    expect(used()).toEqual(['id:right', 'id:right', `${id}:${secret}`]);
    await request();
    expect(endpoint.reads()).toBe(2);
  });

  it('are not made again with the credentials that were just rejected', async () => {
    endpoint.accept('somebody else');

    await expect(request()).rejects.toMatchObject({ code: 'client-rejected' });
    expect(used()).toEqual(['id:right']);
  });

  it.each([
    ['a fault of another kind', new BridgeFault('transient', 'no answer')],
    ['an error of our own', Object.assign(new Error('bug'), { code: 'client-rejected' })],
  ])('are made once where they end with %s', async (_what, error) => {
    await request();
    endpoint.store(() => credentials('id', 'new'));
    endpoint.answer(() => {
      throw error;
    });

    await expect(request()).rejects.toBe(error);
    expect(used()).toHaveLength(2);
    expect(endpoint.reads()).toBe(1);
  });

  it('read the secret again after it could not be read, and again after five minutes', async () => {
    endpoint.store(() => {
      throw new Error('half-written');
    });
    await expect(request()).rejects.toThrow('half-written');
    endpoint.store(() => credentials('id', 'right'));

    await request();
    endpoint.clock.advance(299_999);
    await request();
    expect(endpoint.reads()).toBe(2);
    endpoint.clock.advance(1);
    await request();
    expect(endpoint.reads()).toBe(3);
  });
});

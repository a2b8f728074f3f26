import { randomUUID } from 'node:crypto';
import { createSecrets } from './fake-secrets-manager.ts';
import { describedStack } from './stack-outputs.ts';
import type { Answer } from './wire.ts';

const json = (body: unknown, status = 200): Answer => ({ status, body: JSON.stringify(body) });

/** As far as the functions, and commands that look up the stack, use them. */
export function playServices(
  environment: Readonly<Record<string, string>>,
  invokeRefreshToken: (event: unknown) => Promise<unknown>,
) {
  const { set, calls } = createSecrets();
  let published = 0;
  return {
    setSecret: set,
    /** Events accepted so far. */
    published: () => published,
    async play(operation: string, body: string): Promise<Answer> {
      if (operation === 'cloudformation DescribeStacks') return { status: 200, body: stackOf(environment) };
      if (operation === 'lambda GetFunctionConfiguration')
        return json({ Environment: { Variables: environment } });
      const input = JSON.parse(body);
      if (operation === 'lambda Invoke') return json(await invokeRefreshToken(input));
      if (operation === 'events PutEvents') {
        const { Entries } = input as { Entries: unknown[] };
        published += Entries.length;
        return json({ FailedEntryCount: 0, Entries: Entries.map(() => ({ EventId: randomUUID() })) });
      }
      const call = calls[operation.replace('secretsmanager ', '')];
      if (!call) throw new Error(`${operation} is not played here`);
      try {
        return json(call(input));
      } catch (error) {
        return json({ __type: (error as Error).name }, 400);
      }
    },
  };
}

function stackOf(environment: Readonly<Record<string, string>>): string {
  const {
    StackName,
    StackStatus,
    Outputs = [],
  } = describedStack({
    FeedStateTableName: environment.FEED_STATE_TABLE ?? '',
    AdvertStatusTableName: environment.ADVERT_STATUS_TABLE ?? '',
    QueueUrl: environment.QUEUE_URL ?? '',
    DrainFunctionName: 'drain',
    RefreshTokenFunctionName: environment.REFRESH_TOKEN_FUNCTION ?? '',
  });
  const members = Outputs.map(
    ({ OutputKey, OutputValue }) =>
      `<member><OutputKey>${OutputKey}</OutputKey><OutputValue>${OutputValue}</OutputValue></member>`,
  );
  return `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>${StackName}</StackName><StackStatus>${StackStatus}</StackStatus><Outputs>${members.join('')}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`;
}

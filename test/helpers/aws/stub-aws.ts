import { vi } from 'vitest';

interface Stubbed {
  /** Default eu-central-1. */
  readonly region?: string;
  /** Where the emulators listen; what is left out is mocked. */
  readonly dynamoDb?: string;
  readonly sqs?: string;
}

/** The environment of a shell that may use AWS, until the test ends. */
export function stubAws({ region = 'eu-central-1', dynamoDb, sqs }: Stubbed = {}): void {
  vi.stubEnv('AWS_REGION', region);
  vi.stubEnv('AWS_ACCESS_KEY_ID', '000000000000');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  if (dynamoDb !== undefined) vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', dynamoDb);
  if (sqs !== undefined) vi.stubEnv('AWS_ENDPOINT_URL_SQS', sqs);
}

import { mockClient as mockOf } from 'aws-sdk-client-mock';

const mocks: { restore(): void }[] = [];

/** Mocks a client of AWS until the test file ends: the next file of the process may need the real one. */
export const mockClient: typeof mockOf = (client) => {
  const mock = mockOf(client);
  mocks.push(mock);
  return mock;
};

export function restoreClients(): void {
  for (const mock of mocks.splice(0)) mock.restore();
}

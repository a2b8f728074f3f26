import type { LambdaClient } from '@aws-sdk/client-lambda';
import * as v from 'valibot';
import { checkedJson, partnerAccountName } from '../contract/checks.ts';
import { generation } from '../contract/events.ts';
import type { Secret } from '../domain/secret.ts';
import { invoke } from './refresh-requester.ts';

const connected = v.object({
  kind: v.literal('connected'),
  partnerAccount: partnerAccountName,
  generation,
  scope: v.string(),
  tokenExpiresAt: v.string(),
  isNew: v.boolean(),
});
const refused = v.object({ kind: v.literal('refused'), fault: v.string(), reason: v.string() });
const connectAnswer = v.variant('kind', [connected, refused]);
const disconnectAnswer = v.variant('kind', [
  v.object({ kind: v.literal('disconnected'), known: v.boolean() }),
  v.object({ kind: v.literal('forgotten') }),
]);
export type ConnectAnswer = v.InferOutput<typeof connectAnswer>;

export type ConnectInput = { readonly partnerAccount: string; readonly since?: string } & (
  | { readonly refreshToken: Secret }
  | { readonly code: Secret; readonly redirectUri?: string }
);

/**
 * Connecting and disconnecting through the refresh-token function, the one writer of tokens: for the command line. The
 * secret goes out in the request, which Lambda encrypts and nobody logs; no answer holds one.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
 */
export function createAccountRequests(target: {
  readonly client: LambdaClient;
  readonly functionName: string;
}) {
  return {
    /** @throws {FunctionError} when the function failed; what the service refused is in the answer */
    async connect(input: ConnectInput): Promise<ConnectAnswer> {
      const secret =
        'code' in input ? { code: input.code.reveal() } : { refreshToken: input.refreshToken.reveal() };
      const answer = await invoke(target, { ...input, ...secret, action: 'connect' });
      return checkedJson(connectAnswer, answer, 'answer of refresh-token');
    },

    /** @returns whether the name was known, as far as that can be told of one that was forgotten */
    async disconnect(partnerAccount: string, { forget }: { readonly forget: boolean }): Promise<boolean> {
      const answer = await invoke(target, { action: 'disconnect', partnerAccount, forget });
      const result = checkedJson(disconnectAnswer, answer, 'answer of refresh-token');
      return result.kind === 'forgotten' || result.known;
    },
  };
}

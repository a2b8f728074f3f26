import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { invoke } from '../../../shared/aws/refresh-requester.ts';
import { checkedJson } from '../../../shared/contract/checks.ts';
import { type PollEvent, pollAnswer } from '../../../shared/contract/poll.ts';
import type { Pauses, Polls } from '../ports/pauses.ts';
import type { StackBridge } from './bridge.ts';

/** Uses the caller's credentials, which need permission to write items of the feed-state table. */
export const stackPauses = ({ state, onClose }: StackBridge): Pauses => ({
  accounts: state.partnerAccounts,
  budgetStore: state.budgetStore,
  async who() {
    const client = new STSClient({ maxAttempts: 3 });
    onClose(() => client.destroy());
    // Every AWS identity may call this: https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html
    const { Arn, UserId = 'unknown' } = await client.send(new GetCallerIdentityCommand());
    return Arn ?? UserId;
  },
});

/** The drain function sends the requests, so that only functions need tokens. */
export const stackPolls = ({ state, clients, outputs }: StackBridge): Polls => ({
  accounts: state.partnerAccounts,
  async poll(only) {
    const event: PollEvent = { action: 'poll', ...(only !== undefined && { partnerAccount: only }) };
    const functionName = outputs.drainFunctionName;
    return checkedJson(
      pollAnswer,
      await invoke({ client: clients.lambda, functionName }, event),
      'answer of drain',
    );
  },
  isDelivering: () => true,
});

import { DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { GetCallerIdentityCommand } from '@aws-sdk/client-sts';
import { once } from '../../../../operations/ask.ts';
import { check, fault, ok, SkippedError, warning } from '../../../../operations/doctor.ts';
import packageJson from '../../../../package.json' with { type: 'json' };
import type { Facts } from './facts.ts';

export function identityChecks({ target, clients, opened, bridge }: Facts) {
  const identified = once(() => clients.sts.send(new GetCallerIdentityCommand({})));

  /** Missing or invalid AWS credentials are reported once, by the check of the identity. */
  async function needIdentity(met: Error): Promise<void> {
    const refused: unknown = await identified().then(
      () => undefined,
      (error: unknown) => error,
    );
    if (refused instanceof Error && refused.name === met.name) {
      throw new SkippedError('needs an identity that AWS accepts: see identity', { cause: met });
    }
  }

  return [
    check('identity', async () => {
      const { Account, Arn } = await identified();
      return ok(`${Arn} in AWS account ${Account}, region ${await clients.sts.config.region()}`);
    }),
    check('stack', async () => {
      await opened().catch(async (error: Error) => {
        await needIdentity(error);
        throw error;
      });
      const asked = new DescribeStacksCommand({ StackName: target.stack });
      const { Stacks = [] } = await clients.cloudFormation.send(asked);
      const status = Stacks[0]?.StackStatus ?? 'gone';
      const says = `stack ${target.stack} is ${status}`;
      if (status.endsWith('_IN_PROGRESS'))
        return warning(says, 'Wait for the deployment, then run doctor again');
      if (status === 'UPDATE_ROLLBACK_COMPLETE') {
        return warning(
          `${says}: the last deployment failed and was undone`,
          `\`aws cloudformation describe-stack-events --stack-name ${target.stack}\` says why; then \`npx cdk deploy\``,
        );
      }
      if (/FAILED|ROLLBACK|DELETE|gone/.test(status)) {
        return fault(says, 'Deploy it again with `npx cdk deploy` and the settings that it has');
      }
      return ok(says);
    }),
    check('version', async () => {
      const { version } = (await bridge()).outputs;
      const own = packageJson.version;
      if (version === own) return ok(`stack and command are ${own}`);
      return warning(
        `the stack is ${version}, this command ${own}`,
        `Deploy the version of this command with \`npx cdk deploy\`, or use the command of ${version}`,
      );
    }),
  ];
}

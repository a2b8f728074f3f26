import {
  DescribeSecretCommand,
  paginateListSecrets,
  ResourceNotFoundException,
  type SecretListEntry,
} from '@aws-sdk/client-secrets-manager';
import { allPages } from '../../../../operations/ask.ts';
import { check, type Finding, fault, ok, together, warning } from '../../../../operations/doctor.ts';
import { type PartnerAccount, stopOf } from '../../../../shared/domain/partner-account.ts';
import type { StackBridge } from '../../../bridge/open-stack.ts';
import { applicationCommand, connectCommand } from '../../../shared/explain.ts';
import type { StackTarget } from '../../../shared/target.ts';
import type { Facts } from './facts.ts';

const currentStage = 'AWSCURRENT';
const restore = (name: string) => `\`aws secretsmanager restore-secret --secret-id ${name}\``;

/** Only the functions may read the values. So the connect function checks whether the service accepts them. */
export const secretChecks = ({ target, bridge }: Facts) => [
  check('application-secret', async () => applicationFinding(await bridge(), target)),
  check('token-secrets', async () => {
    const opened = await bridge();
    const [accounts, secrets] = await Promise.all([
      opened.partnerAccounts.list(() => undefined),
      partnerSecrets(opened),
    ]);
    const polled = accounts.filter((account) => !stopOf(account));
    return together(
      `token pairs found: ${polled.length}, none is missing`,
      polled.map((account) => tokenFinding(account, secrets.get(account.name), target)),
    );
  }),
];

async function applicationFinding(
  { clients, secretNames: { application: SecretId } }: StackBridge,
  target: StackTarget,
): Promise<Finding> {
  try {
    const { DeletedDate, VersionIdsToStages = {} } = await clients.secrets.send(
      new DescribeSecretCommand({ SecretId }),
    );
    if (DeletedDate) return fault(`secret ${SecretId} is about to be deleted`, restore(SecretId));
    if (Object.values(VersionIdsToStages).flat().includes(currentStage))
      return ok(`secret ${SecretId} has a value`);
    return fault(`secret ${SecretId} is empty`, `\`${applicationCommand(target)}\``);
  } catch (error) {
    if (!(error instanceof ResourceNotFoundException)) throw error;
    return fault(
      `secret ${SecretId} is gone`,
      `Make it: \`aws secretsmanager create-secret --name ${SecretId}\`, then \`${applicationCommand(target)}\``,
    );
  }
}

/** Secrets by partner account name, including those that are scheduled for deletion. */
export async function partnerSecrets({
  clients,
  secretNames: { partnerAccountPrefix: prefix },
}: Pick<StackBridge, 'clients' | 'secretNames'>): Promise<Map<string, SecretListEntry>> {
  const asked = { Filters: [{ Key: 'name' as const, Values: [prefix] }], IncludePlannedDeletion: true };
  const pages = paginateListSecrets({ client: clients.secrets }, asked);
  const found = await allPages(pages, ({ SecretList }) => SecretList);
  return new Map(
    found.flatMap((secret) =>
      secret.Name?.startsWith(prefix) ? [[secret.Name.slice(prefix.length), secret]] : [],
    ),
  );
}

function tokenFinding(
  { name, token }: PartnerAccount,
  secret: SecretListEntry | undefined,
  target: StackTarget,
): Finding {
  const connect = `\`${connectCommand(target, name)}\``;
  if (!secret) return fault(`${name} has no secret with its token pair`, connect);
  if (secret.DeletedDate)
    return fault(`the secret of ${name} is about to be deleted`, restore(secret.Name ?? name));
  const stages = Object.entries(secret.SecretVersionsToStages ?? {});
  const [current] = stages.find(([, names]) => names.includes(currentStage)) ?? [];
  if (current === undefined) return fault(`the secret of ${name} is empty`, connect);
  if (token === undefined || token.version === current) return ok(name);
  return warning(
    `the secret of ${name} has another token pair than its row names`,
    `refresh-token takes it in within 15 minutes; if this stays: ${connect}`,
  );
}

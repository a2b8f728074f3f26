import assert from 'node:assert/strict';
import { GetSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { secretNames } from '../../../shared/contract/names.ts';
import { functionLogs } from '../emulator/logs.ts';
import type { Deployment } from '../stack/deployment.ts';

/** Checks that no credential is leaked. */
export async function secrecySteps({ steps, cloud, sandbox, subscriber, say }: Deployment): Promise<void> {
  await steps.check('no token and no secret is in a log line or an event', async () => {
    const secrets = [sandbox.application.clientSecret, sandbox.users[0]?.refreshToken];
    for (const { name } of sandbox.control.users()) {
      const SecretId = `${secretNames.partnerAccountPrefix}${name}`;
      const { SecretString = '' } = await cloud.secrets.send(new GetSecretValueCommand({ SecretId }));
      const { accessToken, refreshToken } = JSON.parse(SecretString) as Record<string, string>;
      secrets.push(accessToken, refreshToken);
    }
    const logs = await functionLogs(cloud.endpoint);
    const lines = [...logs.values()].flat();
    say(`${lines.length} lines of ${logs.size} log groups`);
    assert.ok(lines.length > 0, 'the functions log');
    for (const text of [...lines, ...subscriber.received.map((event) => JSON.stringify(event))]) {
      for (const secret of secrets) {
        assert.ok(secret, 'the secret has its fields');
        assert.ok(
          !text.includes(secret),
          `a secret is in: ${text.replaceAll(secret, '[here]').slice(0, 300)}`,
        );
      }
    }
  });
}

import { secretNames } from '../../shared/contract/names.ts';
import { applicationOfText, pairOfText, textOfApplication, textOfPair } from '../../shared/domain/secret.ts';
import type { ApplicationSecretWriter, TokenVault } from '../../shared/ports/tokens.ts';

/** Token pairs in memory, in the text form that would be stored. */
export function createInMemoryVault() {
  const versions = new Map<string, readonly { readonly text: string; readonly version: string }[]>();
  let lastVersion = 0;

  function put(partnerAccount: string, text: string): string {
    lastVersion += 1;
    const version = String(lastVersion);
    versions.set(partnerAccount, [...(versions.get(partnerAccount) ?? []), { text, version }]);
    return version;
  }

  const vault: TokenVault = {
    async read(partnerAccount, wanted) {
      const found = versions
        .get(partnerAccount)
        ?.findLast(({ version }) => wanted === undefined || version === wanted);
      const secret = secretNames.partnerAccountPrefix + partnerAccount;
      return found && { pair: pairOfText(found.text, secret), version: found.version };
    },
    write: async (partnerAccount, pair) => put(partnerAccount, textOfPair(pair)),
    async remove(partnerAccount) {
      versions.delete(partnerAccount);
    },
  };
  return {
    ...vault,
    /** For tests: a secret as edited by hand. */
    edit: put,
  };
}

/** The application's credentials in memory; empty until they are written. */
export function createInMemoryApplicationSecret(text = ''): ApplicationSecretWriter {
  let current = text;
  return {
    read: async () => applicationOfText(current, secretNames.application),
    async write(application) {
      current = textOfApplication(application);
    },
  };
}

import { secretNames } from '../contract/names.ts';
import { applicationOfText, textOfApplication } from '../domain/secret.ts';
import type { ApplicationSecretWriter } from '../ports/tokens.ts';
import type { Documents } from './file/documents.ts';

const documentName = 'application';

/** The application's credentials in the state file. */
export function createApplicationSecret(documents: Documents): ApplicationSecretWriter {
  return {
    read: async () => applicationOfText((await documents.read(documentName)) ?? '', secretNames.application),
    write: (application) => documents.write(documentName, textOfApplication(application), { durable: true }),
  };
}

import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../shared/domain/secret.ts';
import type { ApplicationSecretWriter } from '../../shared/ports/tokens.ts';
import { type Cleaned, subjects } from './harness.ts';

export interface ApplicationSecretSubject extends Cleaned {
  readonly applicationSecret: ApplicationSecretWriter;
}

/**
 * Conformance tests for every store of the application's credentials.
 *
 * @param make with the text of the secret as it is stored; `undefined`: nobody has filled it in
 */
export function applicationSecretSuite(
  name: string,
  make: (text: string | undefined) => Promise<ApplicationSecretSubject>,
): void {
  describe(`${name}: application secret`, () => {
    let text: string | undefined;
    const subject = subjects(() => make(text));

    it('gives the credentials', async () => {
      text = '{"clientId":"id-1","clientSecret":"hidden-one"}';
      const { clientId, clientSecret } = await (await subject()).applicationSecret.read();
      expect([clientId.reveal(), clientSecret.reveal()]).toEqual(['id-1', 'hidden-one']);
    });

    it('gives the credentials that were written last', async () => {
      text = '{"clientId":"id-1","clientSecret":"hidden-one"}';
      const { applicationSecret } = await subject();
      await applicationSecret.write({ clientId: new Secret('id-2'), clientSecret: new Secret('hush') });
      const { clientId, clientSecret } = await applicationSecret.read();
      expect([clientId.reveal(), clientSecret.reveal()]).toEqual(['id-2', 'hush']);
    });

    it.each([
      ['nobody has filled it in', undefined],
      ['it is cut off', '{"clientId":"id-1","clientSecret":"hidden-one'],
      ['a field is missing', '{"clientId":"hidden-one"}'],
      ['a field is blank', '{"clientId":"id-1","clientSecret":" "}'],
    ])('says that it is wrong when %s, without showing it', async (_, stored) => {
      text = stored;
      const { applicationSecret } = await subject();
      const fault = await applicationSecret.read().catch((error: unknown) => error);
      expect(fault).toMatchObject({ name: 'ShapeError', code: 'wrong-shape' });
      expect(String(fault)).toContain('advert-bridge/application');
      expect(inspect(fault)).not.toContain('hidden-one');
    });
  });
}

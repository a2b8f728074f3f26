import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../shared/domain/secret.ts';
import type { ApplicationSecret } from '../../shared/ports/tokens.ts';
import { type Cleaned, subjects } from './harness.ts';

export interface ApplicationSecretSubject extends Cleaned {
  readonly applicationSecret: ApplicationSecret;
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

    it('returns the credentials that were stored last', async () => {
      text = '{"clientId":"id-1","clientSecret":"hidden-one"}';
      const { applicationSecret } = await subject();
      const read = async () => {
        const { clientId, clientSecret } = await applicationSecret.read();
        return [clientId.reveal(), clientSecret.reveal()];
      };
      expect(await read()).toEqual(['id-1', 'hidden-one']);
      await applicationSecret.write({ clientId: new Secret('id-2'), clientSecret: new Secret('hush') });
      expect(await read()).toEqual(['id-2', 'hush']);
    });

    it.each([
      ['nobody has filled it in', undefined],
      ['it is cut off', '{"clientId":"id-1","clientSecret":"hidden-one'],
      ['a field is missing', '{"clientId":"hidden-one"}'],
      ['a field is blank', '{"clientId":"id-1","clientSecret":" "}'],
    ])('an error names the secret when %s, without showing it', async (_, stored) => {
      text = stored;
      const { applicationSecret } = await subject();
      const fault = await applicationSecret.read().catch((error: unknown) => error);
      expect(fault).toMatchObject({ name: 'ShapeError', code: 'malformed-application' });
      expect(String(fault)).toContain('advert-bridge/application');
      expect(inspect(fault)).not.toContain('hidden-one');
    });
  });
}

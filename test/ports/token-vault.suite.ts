import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Secret, type TokenPair } from '../../shared/domain/secret.ts';
import type { TokenVault } from '../../shared/ports/tokens.ts';
import { tokenPair } from '../helpers/records.ts';
import { type Cleaned, subjects } from './harness.ts';

export interface TokenVaultSubject extends Cleaned {
  readonly vault: TokenVault;
  /** Replaces the partner account's secret by `text`, like a manual edit. */
  readonly edit: (partnerAccount: string, text: string) => unknown;
}

const second = tokenPair({ accessToken: new Secret('access-2'), refreshToken: new Secret('refresh-2') });

/** Conformance tests for every vault of token pairs. */
export function tokenVaultSuite(name: string, make: () => Promise<TokenVaultSubject>): void {
  describe(`${name}: token vault`, () => {
    const subject = subjects(make);

    it('a partner account that was never connected has no tokens', async () => {
      const { vault } = await subject();
      expect(await vault.read('main')).toBeUndefined();
      await vault.remove('main');
    });

    it('each written pair becomes the current one, with its own version', async () => {
      const { vault } = await subject();
      const versions: string[] = [];
      for (const pair of [tokenPair(), second, second]) {
        versions.push(await vault.write('main', pair));
        const read = await vault.read('main');
        expect(read?.version).toBe(versions.at(-1));
        expect(revealed(read?.pair)).toEqual(revealed(pair));
      }
      expect(new Set(versions).size).toBe(3);
    });

    it('the version before the latest is shown, and none never written', async () => {
      const { vault } = await subject();
      const version = await vault.write('main', tokenPair());
      const next = await vault.write('main', { ...second, follows: version });
      expect(revealed((await vault.read('main', version))?.pair)).toEqual(revealed(tokenPair()));
      expect(await vault.read('main', next)).toMatchObject({ version: next, pair: { follows: version } });
      expect(await vault.read('main', '00000000-0000-4000-8000-000000000000')).toBeUndefined();
      expect(await vault.read('other', version)).toBeUndefined();
    });

    it('a removed account has no tokens, and never a version of before', async () => {
      const { vault } = await subject();
      const version = await vault.write('main', tokenPair());
      await vault.write('other', second);
      await vault.remove('main');
      expect(await vault.read('main')).toBeUndefined();
      expect(await vault.read('main', version)).toBeUndefined();
      expect(revealed((await vault.read('other'))?.pair)).toEqual(revealed(second));
      expect(await vault.write('main', second)).not.toBe(version);
      expect(revealed((await vault.read('main'))?.pair)).toEqual(revealed(second));
    });

    it.each([
      ['cut off', '{"accessToken":"hidden-one","refreshTo'],
      [
        'without a refresh token',
        '{"accessToken":"hidden-one","scope":"","expiresAt":"2026-11-20T12:00:00Z"}',
      ],
      ['of another shape', '["hidden-one"]'],
      ['empty', ''],
    ])('an error names a secret that is %s, without showing it', async (_, text) => {
      const { vault, edit } = await subject();
      await vault.write('main', tokenPair());
      await edit('main', text);
      const fault = await vault.read('main').catch((error: unknown) => error);
      expect(fault).toMatchObject({ name: 'ShapeError', code: 'malformed-pair' });
      expect(String(fault)).toContain('advert-bridge/partner-accounts/main');
      expect(inspect(fault)).not.toContain('hidden-one');
      await vault.write('main', second);
      expect(revealed((await vault.read('main'))?.pair)).toEqual(revealed(second));
    });
  });
}

const revealed = (pair: TokenPair | undefined) =>
  pair && { ...pair, accessToken: pair.accessToken.reveal(), refreshToken: pair.refreshToken.reveal() };

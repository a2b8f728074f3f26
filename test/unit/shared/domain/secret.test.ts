import { format, inspect } from 'node:util';
import { expect, it } from 'vitest';
import { Secret } from '../../../../shared/domain/secret.ts';

const secret = new Secret('hush-hush-1');

it.each<[string, () => unknown]>([
  ['a concatenation', () => `say ${String(secret)}`],
  ['JSON', () => JSON.stringify({ secret, list: [secret] })],
  ['util.format', () => format('%s %o %O %j', secret, secret, secret, { secret })],
  ['an error and its cause', () => inspect(new Error(`no ${secret}`, { cause: { secret } }))],
  ['its properties', () => Object.getOwnPropertyNames(secret).join()],
  ['a copy', () => inspect([{ ...secret }, structuredClone(secret)], { showHidden: true })],
  ['a map and a set', () => inspect([new Map([['a', secret]]), new Set([secret])])],
])('a secret does not show itself in %s', (_where, print) => {
  expect(String(print())).not.toContain('hush');
});

it('a secret is revealed and compared only on purpose', () => {
  expect([`${secret}`, inspect(secret), secret.toJSON()]).toEqual(Array(3).fill('[redacted]'));
  expect(secret.reveal()).toBe('hush-hush-1');
  expect(secret.equals(new Secret('hush-hush-1'))).toBe(true);
  expect(secret.equals(new Secret('hush-hush-2'))).toBe(false);
});

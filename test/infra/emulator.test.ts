import { describe, expect, it } from 'vitest';
import { unknownToEmulator } from '../../infra/emulator.ts';
import { synthesized } from '../helpers/synthesized.ts';

const settings = { subscriberAccounts: '111111111111', alarmEmail: 'team@example.com' };
const aws = synthesized(settings);
const emulator = synthesized({ ...settings, target: 'emulator' });

describe('the stack for the emulator', () => {
  it('has nothing that the emulator refuses', () => {
    const types = Object.values(emulator.resources).map(({ Type }) => Type);
    expect(types.filter((type) => unknownToEmulator.includes(type))).toEqual([]);
  });

  it('is otherwise the one for AWS, to the letter', () => {
    const known = Object.entries(aws.resources).filter(([, { Type }]) => !unknownToEmulator.includes(Type));

    expect(known.length).toBeLessThan(Object.keys(aws.resources).length);
    expect(emulator.resources).toEqual(Object.fromEntries(known));
    expect(emulator.template.toJSON().Outputs).toEqual(aws.template.toJSON().Outputs);
  });
});

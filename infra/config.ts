import type { Node } from 'constructs';
import * as v from 'valibot';
import { didYouMean } from '../shared/contract/checks.ts';
import { fromText, schemasOf } from '../shared/contract/settings.ts';
import { type Fault, FaultsError, faultLines } from './constructs/props/faults.ts';
import { type StackSettings, stackSettings } from './constructs/props/stack-settings.ts';

const names = Object.keys(stackSettings);

export class SettingsError extends FaultsError {
  override readonly name = 'SettingsError';
  readonly code = 'wrong-settings';
}

/**
 * Reads the stack's settings from the CDK context and checks them together.
 *
 * @throws {SettingsError} with all faults, including probable misspellings of a setting's name
 * @see infra/constructs/props/stack-settings.ts
 */
export function readSettings(node: Node): StackSettings {
  // Missing settings are included as undefined, so that a missing required one is reported with its own message.
  const given = Object.entries(stackSettings).map(([name, setting]) => [
    name,
    fromText(setting, node.tryGetContext(name)),
  ]);
  const result = v.safeParse(v.object(schemasOf(stackSettings)), Object.fromEntries(given));
  const unknown = Object.keys(node.getAllContext()).flatMap((key): Fault[] => {
    // CDK's own keys, and those of its plugins, have a namespace (`@aws-cdk/…`, `aws:cdk:…`), or hyphens
    // (`cli-telemetry`).
    if (names.includes(key) || /[:/]/.test(key)) return [];
    const hint = didYouMean(key, names);
    return hint || /^\w+$/.test(key) ? [[key, `there is no such setting${hint}`]] : [];
  });
  if (result.success && unknown.length === 0) return result.output;
  throw new SettingsError(
    'Some settings are wrong. Give them as -c name=value, or under "context" in cdk.json:',
    faultLines(result.issues, unknown),
  );
}

import type { Node } from 'constructs';
import * as v from 'valibot';
import { type StackSettings, stackSettings } from '../shared/contract/settings.ts';
import { faultsByPlace } from './constructs/props/faults.ts';

/** The settings' names, for looking each up in the CDK context. */
const stackSettingNames = Object.keys(stackSettings.entries);

/** Settings are missing or wrong; the message has a line for each, with what it should be. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly code = 'wrong-settings';
  /** `<setting>: <what it should be>`. */
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(
      [
        'Some settings are wrong. Give them as -c name=value, or under "context" in cdk.json:',
        ...faults.map((fault) => `  ${fault}`),
      ].join('\n'),
    );
    this.faults = faults;
  }
}

/**
 * The stack's settings, read from the CDK context and checked together.
 *
 * @throws {SettingsError} with every fault, likely misspellings of a setting's name included
 * @see shared/contract/settings.ts
 */
export function readSettings(node: Node): StackSettings {
  // Those not given are named too, as undefined: so a required one is reported in its own words.
  const given = Object.fromEntries(stackSettingNames.map((name) => [name, node.tryGetContext(name)]));
  const result = v.safeParse(stackSettings, given);
  const faults = faultsByPlace(result.issues);
  for (const key of Object.keys(node.getAllContext())) {
    if (stackSettingNames.includes(key)) continue;
    const meant = settingLike(key);
    if (meant) faults.set(key, `there is no such setting. Did you mean ${meant}?`);
    else if (namedLikeSettings.test(key)) faults.set(key, 'there is no such setting');
  }
  if (!result.success || faults.size > 0) {
    throw new SettingsError([...faults].map(([place, expected]) => `${place}: ${expected}`));
  }
  return result.output;
}

/** CDK's own keys, and those of its plugins, have a namespace (`@aws-cdk/…`, `aws:cdk:…`) or hyphens (`cli-telemetry`). */
const namedLikeSettings = /^\w+$/;

/** The setting that `key` is probably a misspelling of: `poll-seconds`, `alarmsEmail`. */
function settingLike(key: string): string | undefined {
  if (/[:/]/.test(key)) return undefined;
  const plain = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '');
  return stackSettingNames.find((name) => distance(plain(name), plain(key)) <= 2);
}

/** Levenshtein distance. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [line, letter] of [...one].entries()) {
    const next = [line + 1];
    for (const [column, against] of [...other].entries()) {
      const substituted = (row[column] ?? 0) + (letter === against ? 0 : 1);
      next.push(Math.min(substituted, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

import type { Node } from 'constructs';
import * as v from 'valibot';
import { type StackSettings, stackSettings } from '../shared/contract/settings.ts';
import { faultsByPlace } from './constructs/props/faults.ts';

/** The settings' names, to look up each in the CDK context. */
const stackSettingNames = Object.keys(stackSettings.entries);

/** Thrown for missing or wrong settings. The message has a line for each, with the expected value. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly code = 'wrong-settings';
  /** One entry per fault: `<setting>: <expected value>`. */
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
 * Reads the stack's settings from the CDK context and checks them together.
 *
 * @throws {SettingsError} with all faults, including probable misspellings of a setting's name
 * @see shared/contract/settings.ts
 */
export function readSettings(node: Node): StackSettings {
  // Missing settings are included as undefined, so that a missing required one is reported with its own message.
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

/** The Levenshtein distance. */
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

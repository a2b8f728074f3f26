/** What the data of infra/constructs/props/stack-settings.ts say elsewhere: the properties of `AdvertBridge`, the table of the settings. */
import { stackSettings } from '../../infra/constructs/props/stack-settings.ts';
import type { Setting } from '../../shared/contract/settings.ts';

/** A construct has other properties instead of these. */
const onlyInContext: readonly string[] = ['stackName', 'alarmTopicArn'];

const types: Readonly<Record<Setting['type'], string>> = {
  number: 'number',
  string: 'string',
  boolean: 'boolean',
  list: 'readonly string[]',
  buses: "readonly ('classic' | 'custom')[]",
  target: "'aws' | 'emulator'",
};

const settings: readonly (readonly [string, Setting])[] = Object.entries(stackSettings);

const isRequired = ({ schema }: Setting): boolean => schema.type !== 'optional';

/** The default as text; undefined: there is none. */
function defaultOf({ schema }: Setting): string | undefined {
  const { default: standard } = schema as { readonly default?: unknown };
  return standard === undefined || String(standard) === '' ? undefined : String(standard);
}

/** Source of the interface of the properties that are settings. */
export function settingsInterface(): string {
  const properties = settings
    .filter(([name]) => !onlyInContext.includes(name))
    .map(([name, setting]) => {
      const { says, range, type } = setting;
      const sentences = [says, ...(range ? [range] : [])].map(
        (text) => `   * ${text[0]?.toUpperCase()}${text.slice(1)}.\n`,
      );
      const standard = isRequired(setting) ? '' : `   *\n   * @default ${defaultOf(setting) ?? '- none'}\n`;
      const optional = isRequired(setting) ? '' : '?';
      return `  /**\n${sentences.join('')}${standard}   */\n  readonly ${name}${optional}: ${types[type]};\n`;
    });
  return `/** Written by \`npm run generate\` from stack-settings.ts. */

/** What a bridge reads, how often, which events it publishes, and to whom. */
export interface AdvertBridgeSettings {
${properties.join('')}}
`;
}

const between = /(<!-- settings -->\n)[\s\S]*(<!-- \/settings -->)/;

/** The page with the table of the settings. */
export function withSettingsTable(page: string): string {
  const rows = settings.map(([name, setting]) => {
    const standard = defaultOf(setting);
    const shown = isRequired(setting) ? 'required' : standard === undefined ? 'none' : `\`${standard}\``;
    return `| \`${name}\` | ${shown} | ${setting.range ?? ''} | ${setting.says} |\n`;
  });
  const table = `| setting | default | values | what it is |\n|---|---|---|---|\n${rows.join('')}`;
  return page.replace(between, (_all, begin, end) => `${begin}${table}${end}`);
}

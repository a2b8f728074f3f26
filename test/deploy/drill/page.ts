/** Reads docs/operate/runbook.md for the drill: its headings, and the commands under each. */

export interface Block {
  /** The name from `<!-- drill: NAME -->` before the block. */
  readonly name: string;
  /** The `##` heading above the block; undefined before the first heading. */
  readonly heading: string | undefined;
  readonly text: string;
}

export interface Page {
  readonly headings: readonly string[];
  /** Command blocks without a name: these would never be tested. */
  readonly nameless: readonly string[];
  readonly blocks: readonly Block[];
}

const part =
  /^## (?<heading>.+)$|^(?: *<!-- drill: (?<name>[\w-]+) -->\n)?(?<indent> *)```sh\n(?<text>[\s\S]*?)^ *```$/gm;

/** @throws {Error} if two blocks have the same name */
export function pageOf(markdown: string): Page {
  const headings: string[] = [];
  const blocks: Block[] = [];
  const nameless: string[] = [];
  for (const { groups = {} } of markdown.matchAll(part)) {
    const { heading, name, indent = '' } = groups;
    const text = (groups.text ?? '').replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    if (heading !== undefined) headings.push(heading);
    else if (name === undefined) nameless.push(text);
    else if (blocks.some((block) => block.name === name)) throw new Error(`two blocks are named ${name}`);
    else blocks.push({ name, heading: headings.at(-1), text });
  }
  return { headings, blocks, nameless };
}

/**
 * The named block, with values filled in.
 *
 * @throws {Error} if the block does not exist, or has no placeholder for a value
 */
export function commandsOf(
  { blocks }: Pick<Page, 'blocks'>,
  name: string,
  values: Readonly<Record<string, string>>,
): string {
  const block = blocks.find((each) => each.name === name);
  if (!block) throw new Error(`the page has no block ${name}`);
  return filledIn(block, values);
}

/**
 * The block as a person would type it: words in capitals are placeholders for the reader's values.
 *
 * @param values by placeholder, such as `NAME`
 * @throws {Error} for a value without a placeholder in the block
 */
export function filledIn({ name, text }: Block, values: Readonly<Record<string, string>>): string {
  return Object.entries(values).reduce((filled, [placeholder, value]) => {
    const place = new RegExp(`(?<![\\w$-])${placeholder}(?![\\w-])`, 'g');
    if (!place.test(filled)) throw new Error(`the block ${name} has no ${placeholder}:\n${text}`);
    return filled.replace(place, () => value);
  }, text);
}

/** docs/operate/runbook.md as the drill reads it: its headings, and the commands under each. */

export interface Block {
  /** What `<!-- drill: NAME -->` before the block calls it. */
  readonly name: string;
  /** The `##` heading that it stands under; undefined for what comes before the first. */
  readonly heading: string | undefined;
  readonly text: string;
}

export interface Page {
  readonly headings: readonly string[];
  /** Blocks of commands without a name: nobody would see that they are never tried. */
  readonly nameless: readonly string[];
  readonly blocks: readonly Block[];
}

const part =
  /^## (?<heading>.+)$|^(?: *<!-- drill: (?<name>[\w-]+) -->\n)?(?<indent> *)```sh\n(?<text>[\s\S]*?)^ *```$/gm;

/** @throws {Error} for a name that two blocks have */
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

/** The block of that name, filled in. @throws {Error} when the page has none, or no place for a value */
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
 * The block as somebody would type it: words in capitals stand for what the reader fills in.
 *
 * @param values by placeholder, such as `NAME`
 * @throws {Error} for a value that the block has no place for
 */
export function filledIn({ name, text }: Block, values: Readonly<Record<string, string>>): string {
  return Object.entries(values).reduce((filled, [placeholder, value]) => {
    const place = new RegExp(`(?<![\\w$-])${placeholder}(?![\\w-])`, 'g');
    if (!place.test(filled)) throw new Error(`the block ${name} has no ${placeholder}:\n${text}`);
    return filled.replace(place, () => value);
  }, text);
}

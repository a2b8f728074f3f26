import { cpSync, existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** What a subscriber reads, of the repository's docs. The vectors are packed whole: 347 KB, 16 KB compressed. */
const subscribersDocs = ['subscribe', 'schemas', 'asyncapi.json', 'install.md'];

/** Copies into `folder` the pages and files of a subscriber, without links to what is not there. */
export function writeSubscribersDocs(repository: string, folder: string): void {
  for (const part of subscribersDocs) {
    cpSync(join(repository, 'docs', part), join(folder, 'docs', part), { recursive: true });
  }
  for (const page of globSync('docs/**/*.md', { cwd: folder })) {
    writeFileSync(
      join(folder, page),
      withoutLinksOut(readFileSync(join(folder, page), 'utf8'), page, folder),
    );
  }
}

/**
 * A page whose links to what is not in `folder` became the place in the repository, after the words of the link.
 *
 * @param page its path, the same in the repository as in `folder`
 */
export function withoutLinksOut(text: string, page: string, folder: string): string {
  return text.replace(
    /\[([^\]]*)\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g,
    (link, words: string, target: string) => {
      const path = join(dirname(page), target);
      if (existsSync(join(folder, path))) return link;
      return `${words} (${relative('', path)} in the bridge's repository)`;
    },
  );
}

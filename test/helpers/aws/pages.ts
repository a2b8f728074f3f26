import type { AttributeValue } from '@aws-sdk/client-dynamodb';

type Key = Record<string, AttributeValue>;

/**
 * Answers for a mocked query or scan, one a page, the last one again and again; `starts` has where each page began, noted
 * as it was asked for, since the SDK's paginators go on with the same input object.
 */
export function pagesOf<Page>(...pages: readonly Page[]) {
  const starts: (Key | undefined)[] = [];
  return {
    starts,
    async answer({ ExclusiveStartKey }: { readonly ExclusiveStartKey?: Key }) {
      starts.push(ExclusiveStartKey);
      return pages[Math.min(starts.length, pages.length) - 1];
    },
  };
}

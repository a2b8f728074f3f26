/** Returns a function that calls `make` once, on its first call, and gives every caller the same result. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Collects the items of all pages of an AWS answer. @param pages for example from a paginator of the SDK */
export async function allPages<Page, Item>(
  pages: AsyncIterable<Page>,
  itemsOf: (page: Page) => readonly Item[] | undefined,
): Promise<Item[]> {
  const all: Item[] = [];
  for await (const page of pages) all.push(...(itemsOf(page) ?? []));
  return all;
}

/** A paginator for operations for which the SDK has none. */
export async function* pagesOf<Page extends { readonly NextToken?: string | undefined }>(
  ask: (NextToken: string | undefined) => Promise<Page>,
): AsyncGenerator<Page> {
  let next: string | undefined;
  do {
    const page = await ask(next);
    yield page;
    next = page.NextToken;
  } while (next);
}

/** The URL in a form safe for logs and output, because its query may contain a secret. */
export function shownUrl(url: string): string {
  const { origin, pathname, search } = new URL(url);
  return `${origin}${pathname}${search === '' ? '' : '?…'}`;
}

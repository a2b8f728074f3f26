/** The scopes in a list separated by spaces or plus signs. @see partner-api.md §5.2, §5.3 */
export function scopeNames(scope: string): string[] {
  return [...new Set(scope.split(/[ +]+/).filter((name) => name !== ''))];
}

/** Whether the granted scope contains every needed one. */
export function covers(granted: string, needed: string): boolean {
  const names = scopeNames(granted);
  return scopeNames(needed).every((name) => names.includes(name));
}

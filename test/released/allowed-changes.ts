/**
 * What changes on purpose since the last release although it replaces something or takes a grant away, each with the reason
 * why bridges in use survive it. A release empties the list.
 */
export const allowedChanges: readonly { readonly id: string; readonly reason: string }[] = [];

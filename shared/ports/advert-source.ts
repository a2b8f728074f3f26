export interface SourcePage {
  /** As received: not checked, perhaps repeated. */
  readonly data: readonly unknown[];
  /** Where the next page begins. */
  readonly next: number;
}

/** Where the advert IDs of a backfill come from. */
export interface AdvertSource {
  /** Identifies the source, such as `list` or `file sha256:…`. */
  readonly name: string;
  /** @returns undefined after the last page */
  page(position: number): Promise<SourcePage | undefined>;
}

export interface SourcePage {
  /** As they came: not checked, perhaps repeated. */
  readonly data: readonly unknown[];
  /** Where the next page begins. */
  readonly next: number;
}

/** Where the IDs come from. */
export interface AdvertSource {
  /** Tells it from others, such as `list` or `file sha256:…`. */
  readonly name: string;
  /** @returns undefined behind the last page */
  page(position: number): Promise<SourcePage | undefined>;
}

/**
 * Replaces `@aws-sdk/endpoint-cache` in the bundles of the functions (esbuild's `--alias`). DynamoDB's client uses that
 * module for endpoint discovery, which is off by default; it contains 7 KB of LRU cache.
 */
export class EndpointCache {
  has(): boolean {
    return false;
  }

  get(): undefined {
    return undefined;
  }

  getEndpoint(): undefined {
    return undefined;
  }

  set(): void {}

  delete(): void {}

  clear(): void {}
}

import { stackName } from '../shared/contract/names.ts';
import { line } from './errors.ts';
import type { BridgeEvent } from './parse.ts';

/** Warnings about how a subscription is set up; each is printed once for each handler. */
export interface Notices {
  /** There is no function for the event's detail type. */
  noFunction(event: BridgeEvent): void;
  /**
   * Warns if another bridge with the same name has sent events before. EventBridge adds AWS account and region to each
   * event, which show that there are two.
   */
  origin(event: BridgeEvent): void;
}

export function createNotices(): Notices {
  const printed = new Set<string>();
  const origins = new Map<string, string>();

  function once(key: string, text: string): void {
    if (printed.has(key)) return;
    printed.add(key);
    console.warn(line(text));
  }
  return {
    noFunction({ 'detail-type': type }) {
      once(
        type,
        `${type} events arrive, and there is no function for them in \`on\`: they count as applied. Add one, or take the detail type out of the rule.`,
      );
    },
    origin({ account, region, detail }) {
      if (account === undefined) return;
      const { bridge = stackName } = detail.metadata;
      const origin = `${account}/${region}`;
      const first = origins.get(bridge) ?? origin;
      origins.set(bridge, first);
      if (first === origin) return;
      once(
        `bridge ${bridge}`,
        `events of two bridges named ${bridge} arrive, from ${first} and ${origin}. The positions of such bridges are not kept apart, so events are skipped that should not be. Give one of them another name (setting stackName), or each a table of positions or a keyPrefix of its own.`,
      );
    },
  };
}

import { join } from 'node:path';
import { repository } from '../emulator/cloud.ts';
import type { Finished, Processes } from '../emulator/processes.ts';

/** The command line, run as a person would: in a process of its own, against the deployed stack. */
export interface AdvertBridge {
  /**
   * @param args of `advert-bridge`
   * @param input for standard input
   * @param expected exit codes that are fine; default: 0 alone
   * @throws {Error} with all that it said, for any other exit code
   */
  run(args: readonly string[], input?: string, expected?: readonly number[]): Promise<Finished>;
  /** `status --json`, parsed; done (0) and done with something left for a person (3) are both fine. */
  status(): Promise<Status>;
}

/** What the command line promises, written down again here: a change of the command line's own types must not pass. */
export interface Status {
  readonly partnerAccounts: readonly {
    readonly name: string;
    readonly generation: number;
    readonly state: 'polling' | 'paused' | 'stopped';
    readonly reason: string | null;
    readonly lagSeconds: number | null;
    readonly lastSuccess: string | null;
    readonly tokenExpiresAt: string | null;
    readonly cursorResets: number;
    readonly books: {
      readonly listed: number;
      readonly events: number;
      readonly unchanged: number;
      readonly coalesced: number;
      readonly unavailable: number;
      readonly deadLettered: number;
      readonly inFlight: number;
    };
    /** Outcomes counted for a delivery beyond its message's first: on AWS they are counted again. */
    readonly redelivered: number;
    /** Other feeds than that of adverts. */
    readonly feeds?: readonly { readonly feed: string; readonly books: { readonly events: number } }[];
  }[];
  readonly queue: { readonly waiting: number; readonly deadLetters: number };
  readonly pausedUntil: string | null;
  readonly exitCode: number | null;
}

const timeoutMs = 90_000;

/** @param sources whose command line it is. Default: these */
export function advertBridgeOn(
  env: Record<string, string>,
  processes: Processes,
  sources: string = repository,
): AdvertBridge {
  const program = join(sources, 'cli', 'main.ts');

  async function run(args: readonly string[], input?: string, expected: readonly number[] = [0]) {
    const command = { file: process.execPath, args: [program, ...args], env, cwd: sources };
    const finished = await processes.run(command, { timeoutMs, ...(input === undefined ? {} : { input }) });
    if (!expected.includes(finished.code ?? -1)) {
      const { code, stdout, stderr } = finished;
      throw new Error(`advert-bridge ${args.join(' ')} ended with ${code}\n${stdout}${stderr}`.trim());
    }
    return finished;
  }

  return {
    run,
    async status() {
      const { code, stdout } = await run(['status', '--json'], undefined, [0, 3]);
      return { ...JSON.parse(stdout), exitCode: code };
    },
  };
}

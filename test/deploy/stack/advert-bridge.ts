import { join } from 'node:path';
import { repository } from '../emulator/cloud.ts';
import type { Finished, Processes } from '../emulator/processes.ts';

/** The command line, run as a person would: in a separate process, on the deployed stack. */
export interface AdvertBridge {
  /**
   * @param args of `advert-bridge`
   * @param input for standard input
   * @param expected accepted exit codes; default: only 0
   * @throws {Error} with its complete output, for any other exit code
   */
  run(args: readonly string[], input?: string, expected?: readonly number[]): Promise<Finished>;
  /** `status --json`, parsed; accepts the exit codes 0 (done) and 3 (done, but a person has to act). */
  status(): Promise<Status>;
}

/**
 * The output that the command line guarantees, repeated here, so that a change of the command line's own types is
 * noticed.
 */
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
    /** Outcomes counted for redeliveries: on AWS they are counted again. */
    readonly redelivered?: number;
    /** The optional feeds. */
    readonly feeds?: readonly { readonly feed: string; readonly books: { readonly events: number } }[];
  }[];
  readonly queue: { readonly waiting: number; readonly deadLetters: number };
  readonly pausedUntil: string | null;
  readonly exitCode: number | null;
}

const timeoutMs = 90_000;

/** @param sources sources that contain the command line. Default: this repository */
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

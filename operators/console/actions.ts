/**
 * What the page can do: each action is a command of the command line, run in a process of its own, so the page stays
 * alive during long work, and an operator can do the same without the page.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import * as v from 'valibot';
import { partnerAccountName } from '../../shared/contract/checks.ts';
import { type Clock, toInstant } from '../../shared/domain/clock.ts';
import { printableLine, quoted } from '../../shared/domain/text.ts';
import type { Bridge } from '../operations/bridge.ts';
import type { ConsoleOptions } from './options.ts';
import type { Action } from './snapshot.ts';

const name = v.optional(partnerAccountName);
const id = v.pipe(v.string(), v.regex(/^[\w/:.~-]{1,200}$/), v.regex(/^[^-]/));
const ids = v.pipe(v.array(id), v.minLength(1), v.maxLength(50_000));
const reason = v.optional(v.pipe(v.string(), v.trim(), v.maxLength(200)));

const actionSchema = v.variant('action', [
  v.strictObject({ action: v.literal('pause'), name, reason }),
  v.strictObject({ action: v.literal('resume'), name, early: v.optional(v.boolean()) }),
  v.strictObject({ action: v.literal('poll'), name }),
  v.strictObject({ action: v.literal('resync'), name, since: v.pipe(v.string(), v.isoTimestamp()) }),
  v.strictObject({ action: v.picklist(['backfill', 'audit']), name: partnerAccountName }),
  v.strictObject({ action: v.picklist(['redrive', 'drop']), ids }),
  v.strictObject({ action: v.literal('break'), what: v.pipe(v.string(), v.maxLength(100)) }),
]);
type Wanted = v.InferOutput<typeof actionSchema>;
/** What a command does. */
type Commanded = Exclude<Wanted, { readonly action: 'break' }>;
/** What the commands that take no IDs are given. */
interface Given {
  readonly name?: string | undefined;
  readonly reason?: string | undefined;
  readonly early?: boolean | undefined;
  readonly since?: string | undefined;
}

/** So many dead letters are handled by one process; more would make its command line too long. */
const deadLettersAtOnce = 1_000;
const shownActions = 10;
const maxSaid = 500;

export type ActionsOptions = Pick<
  ConsoleOptions,
  'program' | 'place' | 'command' | 'env' | 'breaks' | 'say'
> & {
  readonly bridge: Pick<Bridge, 'who'> & { readonly clock: Pick<Clock, 'now'> };
};

/** @property code of the error of a command that failed */
type Ended = Pick<Action, 'state' | 'says'> & { readonly code?: string | undefined };

/** @param onChange called whenever the list of actions has changed, with what AWS denied the caller to do */
export function createActions(
  { program, place, command, env, breaks, say, bridge: { clock, who } }: ActionsOptions,
  onChange: (actions: readonly Action[], denied: readonly string[]) => void,
) {
  let actions: readonly Action[] = [];
  let latest = 0;
  const denied = new Set<string>();
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();

  /** One line, although texts of people stand in it. */
  const log = (text: string) => say(printableLine(text));

  function change(action: Action): void {
    const others = actions.filter((other) => other.id !== action.id);
    actions = [action, ...others].toSorted((a, b) => b.id - a.id).slice(0, shownActions);
    onChange(actions, [...denied]);
  }

  /** Runs one command. @returns its exit code, and that of its error; its last line is passed to `onLine` */
  async function run(args: readonly string[], onLine: (line: string) => void) {
    const [file, ...first] = program;
    const child = spawn(file, [...first, ...args, ...place], {
      env: { ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      signal: stopping.signal,
      killSignal: 'SIGTERM',
    });
    for (const output of [child.stdout, child.stderr].filter((each) => each !== null)) {
      createInterface({ input: output }).on('line', (line) => onLine(printableLine(line.slice(0, maxSaid))));
    }
    let code: string | undefined;
    child.on('message', (told) => {
      code = (told as { code?: string }).code;
    });
    const exitCode = await new Promise<number>((resolve) => {
      child.on('error', ({ message }) => {
        onLine(message);
        resolve(1);
      });
      child.on('close', (ended) => resolve(ended ?? 1));
    });
    return { exitCode, code };
  }

  async function perform(wanted: Wanted, begun: Action): Promise<void> {
    const ended = wanted.action === 'break' ? toggle(wanted.what) : performCommands(wanted, begun);
    const { state, says, code } = await ended.catch(
      (error: unknown): Ended => ({ state: 'failed', says: printableLine(String(error)) }),
    );
    if (code === 'denied') denied.add(wanted.action);
    if (state === 'done') denied.delete(wanted.action);
    change({ ...begun, state, says });
    // What went well was logged when it began.
    if (state !== 'done') log(`${begun.who}: ${begun.command}: ${state}${says === '' ? '' : `: ${says}`}`);
  }

  async function toggle(what: string): Promise<Ended> {
    await breaks?.toggle(what);
    return { state: 'done', says: what };
  }

  async function performCommands(wanted: Commanded, begun: Action): Promise<Ended> {
    const parts = partsOf(wanted);
    const all = countOf(wanted);
    let handled = 0;
    let line = '';
    const says = () => (parts.length === 1 ? line : `${handled} of ${all}: ${line}`);
    const codes: number[] = [];
    for (const args of parts) {
      const { exitCode, code } = await run(args, (said) => {
        line = said;
        change({ ...begun, says: says() });
      });
      codes.push(exitCode);
      if (exitCode === 1 || exitCode === 2) return { state: 'failed', says: says(), code };
      handled = Math.min(all, handled + deadLettersAtOnce);
    }
    return { state: codes.includes(3) ? 'left' : 'done', says: says() };
  }

  function commandOf(wanted: Wanted): string {
    if (wanted.action !== 'break') return command(commandWords(wanted));
    const known = breaks?.list().find(({ name: what }) => what === wanted.what);
    if (!known) throw new RangeError('there is nothing of this name to break');
    return known.command;
  }

  return {
    /** Begins an action. @throws {v.ValiError} for anything that the page does not offer */
    async act(given: unknown): Promise<{ readonly id: number }> {
      const wanted = v.parse(actionSchema, given);
      latest += 1;
      const begun: Action = {
        id: latest,
        at: toInstant(clock.now()),
        who: await who().catch(() => 'unknown'),
        command: commandOf(wanted),
        state: 'running',
        says: '',
      };
      change(begun);
      log(`${begun.who}: ${begun.command}`);
      const work: Promise<void> = perform(wanted, begun).finally(() => running.delete(work));
      running.add(work);
      return { id: begun.id };
    },
    /** Interrupts what is running, as Ctrl-C does: it can be continued. */
    async close(): Promise<void> {
      stopping.abort();
      await Promise.allSettled(running);
    },
  };
}

/** The arguments of the processes that do it, one after the other. */
function partsOf(wanted: Commanded): string[][] {
  if ('ids' in wanted) {
    const { action, ids: all } = wanted;
    const command = ['dead-letters', action, ...(action === 'drop' ? ['--yes'] : [])];
    const begins = all.flatMap((_, index) => (index % deadLettersAtOnce === 0 ? [index] : []));
    return begins.map((begin) => [...command, ...all.slice(begin, begin + deadLettersAtOnce)]);
  }
  const { name: of, reason: why, early, since }: Given = wanted;
  const flags = [why ? `--reason=${why}` : null, early ? '--early' : null, since ? `--since=${since}` : null];
  return [[wanted.action, of, ...flags].filter((word) => typeof word === 'string')];
}

const countOf = (wanted: Commanded): number => ('ids' in wanted ? wanted.ids.length : 0);

/** As a person would write it. */
function commandWords(wanted: Commanded): string {
  const [first = []] = partsOf(wanted);
  const shown = countOf(wanted) > 3 ? first.slice(0, 3) : first;
  return `${shown.map(quoted).join(' ')}${shown === first ? '' : ` … (${countOf(wanted)} IDs)`}`;
}

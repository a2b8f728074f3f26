import type { Sandbox } from '../../../sandbox/server.ts';
import { quoted } from '../../../shared/domain/text.ts';
import type { Break, Breaks } from '../../console/options.ts';

interface BreakItOptions {
  readonly sandbox: Pick<Sandbox, 'url' | 'control'>;
  readonly run: { pid(): number | undefined; start(): void; end(signal: 'SIGKILL'): Promise<void> };
  /** The user authorizes the application again. */
  readonly reconnect: () => Promise<void>;
  /** The command that does the same as {@link reconnect}, and the one that starts the bridge. */
  readonly commands: { readonly reconnect: string; readonly run: string };
}

export function createBreaks({ sandbox, run, reconnect, commands }: BreakItOptions): Breaks {
  const { url, control } = sandbox;
  function calling(method: string, ...args: unknown[]) {
    const [address, body] = [`${url}/_sandbox/`, JSON.stringify({ method, args })];
    return {
      command: `curl -d ${quoted(body)} ${address}`,
      toggle: () => fetch(address, { method: 'POST', body }),
    };
  }
  function answering(status: number, headers: Record<string, string> = {}) {
    const fault = control.faults.list().find((one) => one.status === status);
    if (fault) return { isOn: true, ...calling('faults.remove', fault.id) };
    return { isOn: false, ...calling('faults.add', { kind: 'status', status, headers }) };
  }

  let isRevoked = false;
  const ways = (): Readonly<Record<string, Omit<Break, 'name'> & { toggle(): unknown }>> => ({
    'Service down': {
      says: 'The service answers 503 to everything. The bridge goes on asking, and delivers what changed once it is back.',
      ...answering(503),
    },
    'Too many requests (429)': {
      says: 'The service asks for 2 seconds of quiet. The bridge sends nothing until they are over, and waits longer each time.',
      ...answering(429, { 'retry-after': '2' }),
    },
    'Address blocked (403)': {
      says: 'As a firewall in front of the service would. The bridge stops sending, and tries with single requests, more and more rarely.',
      ...answering(403),
    },
    'User revokes': {
      says: 'The user of main withdraws the authorization. Its account stops and keeps its place until it is connected again.',
      isOn: isRevoked,
      command: isRevoked ? commands.reconnect : calling('revoke').command,
      async toggle() {
        if (isRevoked) await reconnect();
        else control.revoke();
        isRevoked = !isRevoked;
      },
    },
    'Cursor rejected': {
      says: 'The service forgets where the bridge was. It reads its feed again from its last success, and repeats no event.',
      isOn: false,
      ...calling('invalidateCursors'),
    },
    'Process killed': {
      says: 'As by a crash or a power cut (SIGKILL). Started again, the bridge goes on where it was.',
      isOn: run.pid() === undefined,
      command: run.pid() === undefined ? commands.run : `kill -9 ${run.pid()}`,
      toggle: () => (run.pid() === undefined ? run.start() : run.end('SIGKILL')),
    },
  });

  return {
    list: () => Object.entries(ways()).map(([name, { toggle: _toggle, ...way }]) => ({ name, ...way })),
    async toggle(name) {
      const way = ways()[name];
      if (!way) throw new RangeError(`there is nothing named ${name} to break`);
      await way.toggle();
    },
  };
}

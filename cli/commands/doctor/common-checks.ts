/** Checks for every kind of bridge. */
import { isDeepStrictEqual } from 'node:util';
import { once } from '../../../operations/ask.ts';
import {
  check,
  type Finding,
  fault,
  ok,
  SkippedError,
  together,
  warning,
} from '../../../operations/doctor.ts';
import { findingsOf } from '../../../operations/findings.ts';
import type { Status } from '../../../operations/status.ts';
import type { AcceptedApplication } from '../../../shared/contract/connect.ts';
import { printableLine } from '../../../shared/domain/text/printable.ts';
import { connectCommand } from '../../shared/explain.ts';
import { commandFor, type Target } from '../../shared/target.ts';
import { count, duration } from '../../shared/wording.ts';
import type { Examined } from '../../targets/ports/examined.ts';

/** A `Date` that is further off is ignored (shared/partner-api/http/service-clock.ts). */
const daySeconds = 86_400;
/** Longer than a request takes, and much shorter than the overlap before the last success. */
const maxOffSeconds = 60;

export function commonChecks({ status, askService }: Examined, target: Target) {
  /** One request, shared by both checks that need it. */
  const ask = once(async () => {
    const { pausedUntil, circuit, paused } = await status();
    // After an open circuit, the next request is a trial, and its outcome changes the bridge's behaviour.
    if (pausedUntil !== null || circuit || paused) {
      throw new SkippedError('no request is sent to the service during a pause: see pause');
    }
    return askService();
  });

  return [
    check('application-credentials', async () => {
      await ask();
      return ok('the partner service accepts them');
    }),
    check('clock', async () => clockFinding(await accepted(ask), target)),
    check('partner-accounts', async () => accountsFinding(await status(), target)),
    check('delivery', async () => deliveryFinding(await status(), target)),
    check('dead-letters', async () => {
      const { deadLetters } = (await status()).queue;
      if (deadLetters === 0) return ok('none');
      return warning(
        deadLetters === 1
          ? '1 change of an advert was given up'
          : `${count(deadLetters)} changes of adverts were given up`,
        `\`${commandFor(target, 'dead-letters list')}\` says why, \`${commandFor(target, 'dead-letters redrive --all')}\` puts them back`,
      );
    }),
    check('pause', async () => {
      const { pausedUntil, circuit, paused, hold } = await status();
      if (paused) {
        return warning(
          `${paused.who} paused the whole bridge${paused.reason === null ? '' : ` (${printableLine(paused.reason)})`}`,
          `\`${commandFor(target, 'resume')}\``,
        );
      }
      if (circuit) {
        return warning(
          'the circuit is open: the partner service seems to block this address',
          'Find out who sends more than it allows from here, and wait: docs/operate/runbook.md#needsattention. When it lets ' +
            `you in again: \`${commandFor(target, 'resume --early')}\``,
        );
      }
      if (pausedUntil === null) return ok('none');
      if (hold !== null && hold.fault !== 'rate-limited') return ok('nobody asked for one: see delivery');
      return warning(
        `the partner service asked for a pause until ${pausedUntil}`,
        `Wait for its end, or end it: \`${commandFor(target, 'resume --early')}\``,
      );
    }),
  ];
}

/** The check of the credentials has already reported the fault of this request. */
async function accepted(ask: () => Promise<AcceptedApplication>): Promise<AcceptedApplication> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof SkippedError) throw error;
    throw new SkippedError('needs an answer of the service: see application-credentials');
  }
}

function clockFinding({ clockOffSeconds: off }: AcceptedApplication, { kind }: Target): Finding {
  if (off === undefined) throw new SkippedError('the service does not send its time');
  const seconds = Math.abs(off);
  if (seconds <= maxOffSeconds) return ok(`the service's clock is within ${maxOffSeconds} s of the bridge's`);
  const says = `the service's clock is ${count(seconds)} s ${off > 0 ? 'ahead of' : 'behind'} the bridge's`;
  const ofService = 'tell the partner service that its clock is wrong';
  const mend =
    kind === 'local'
      ? `Set the clock of this machine (\`timedatectl set-ntp true\`); if it is right, ${ofService}`
      : `The functions have the clock of AWS: ${ofService}`;
  return seconds > daySeconds ? fault(`${says}, so the bridge ignores it`, mend) : warning(says, mend);
}

/** Findings of `status` (operations/findings.ts) that no other check looks at. */
const undelivered: readonly string[] = ['not-running', 'late', 'held', 'webhook'];

function deliveryFinding(status: Status, target: Target): Finding {
  const found = findingsIn(status, target).filter(
    ({ what, severity }) => undelivered.includes(what) && severity !== 'note',
  );
  return together(
    'what was listed is delivered, or not late yet',
    found.map(({ severity, says, mend }) => {
      const tell = severity === 'fault' ? fault : warning;
      return tell(says, mend === null ? 'docs/operate/runbook.md#lateevents' : `\`${mend}\``);
    }),
  );
}

const findingsIn = (status: Status, target: Target) =>
  findingsOf(status, {
    nowMs: Date.now(),
    kind: target.kind,
    command: (words) => commandFor(target, words),
  });

function accountsFinding(status: Status, target: Target): Finding {
  const { partnerAccounts: accounts, unreadable } = status;
  if (accounts.length === 0 && unreadable.length === 0) {
    return warning('no partner account is connected', `\`${connectCommand(target, 'NAME')}\``);
  }
  const findings = findingsIn(status, target);
  const needy = accounts.filter(({ attention }) => attention.length > 0);
  return together(`${count(accounts.length)} connected, none needs manual action`, [
    ...unreadable.map((flaw) =>
      fault(`a stored row cannot be read: ${flaw}`, 'Restore it: docs/operate/backup.md'),
    ),
    ...needy.map((account) => {
      const { name, state, reason, attention, lagSeconds } = account;
      if (isDeepStrictEqual(attention, ['lagging'])) {
        return warning(
          `the feed of ${name} was not read to its end for ${duration(lagSeconds ?? 0)}`,
          'The other checks may name the cause; else see docs/operate/runbook.md#nosuccessfuldrain',
        );
      }
      const why = printableLine(reason ?? attention.join(', '));
      const mends = findings
        .filter(({ partnerAccount }) => partnerAccount === name)
        .map(({ says, mend }) => `${says}${mend === null ? '' : ` \`${mend}\``}`);
      return fault(`${name} is ${state} (${why})`, mends.join('\n'));
    }),
  ]);
}

/** A failing run as a person reads it: what is wrong, what had to happen for it, and how it came about. */
import type { Run } from './simulate.ts';

export interface StoryOptions {
  /** Every line of the run instead of those about its subject. */
  readonly isWhole: boolean;
  /** The command line that runs this seed again. */
  readonly command: string;
}

export function storyOf(run: Run, { isWhole, command }: StoryOptions): string {
  const [first, ...others] = run.violations;
  const lines = isWhole ? run.lines : linesAbout(run, first?.subject);
  return [
    `seed ${run.seed} violates ${first?.invariant}: ${first?.message}`,
    ...others.slice(0, 5).map(({ invariant, message }) => `  also ${invariant}: ${message}`),
    '',
    'What has to happen for it:',
    ...run.incidents.map(({ text }) => `  ${text}`),
    '',
    'How it comes about (seconds, who, what):',
    ...lines.map((line) => `  ${line}`),
    '',
    `Run it again: ${command}`,
  ].join('\n');
}

const mostLines = 400;

/** The rest of the world is left out, and so are the days after. */
function linesAbout(run: Run, subject: string | undefined): readonly string[] {
  const [account = '', advertId] = subject?.split('/') ?? [];
  const end = run.lines.findIndex((line) => line.includes('sweep-late-2'));
  const isAbout = (line: string) =>
    / dies (before|after|at its time)|CALM| service +/.test(line) ||
    (advertId === undefined
      ? line.includes(account) && /oauth|answered|vault\.|accounts\.write|stopped|revoke/.test(line)
      : line.includes(advertId) || line.includes('/api/partner/status'));
  const lines = run.lines
    .slice(0, end < 0 ? undefined : end)
    .filter((line) => isAbout(line) && !/→ true/.test(line));
  return lines.length <= mostLines ? lines : [...lines.slice(0, mostLines), '…'];
}

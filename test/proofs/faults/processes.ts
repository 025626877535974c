/** Processes of an installation that are ended, or that must end well, and a start that is tried again. */
import { describeExit, type Child } from '../../../dev/stack/children.ts';
import { messageOf, Problem } from '../../../dev/problem.ts';
import { progress } from './progress.ts';

/** How often a start is tried. */
const startsAtMost = 3;

/** On a machine that has too much to do, the Temporal server gives up its own start after a while. @throws what the last start throws */
export async function repeated(start: () => Promise<void>): Promise<void> {
  for (let left = startsAtMost - 1; ; left--) {
    try {
      return await start();
    } catch (error) {
      if (left === 0) throw error;
      progress(`it did not start, and is started once more: ${messageOf(error).split('\n')[0]}`);
    }
  }
}

/** SIGKILL. Resolves once the process has ended. */
export async function killed({ pid, exited }: Child): Promise<void> {
  if (pid === undefined) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    return; // it has ended
  }
  await exited;
}

/** @throws Problem with its last words unless it ends well */
export async function toItsEnd(child: Child): Promise<void> {
  const exit = await child.exited;
  if (exit.code !== 0) throw new Problem(describeExit(child, exit));
  progress(`${child.name}: ${child.lastLines(3).replaceAll('\n', '')}`);
}

/** Ends processes of an installation, waits until they exit with code 0, and repeats a failed start. */
import { describeExit, type Child } from '../../../dev/stack/children.ts';
import { messageOf, Problem } from '../../../dev/problem.ts';
import { progress } from './progress.ts';

const startsAtMost = 3;

/** Repeats a start that fails. On an overloaded machine, the Temporal server gives up its start after a while. */
export async function repeated(start: () => Promise<void>): Promise<void> {
  for (let remainingStarts = startsAtMost - 1; ; remainingStarts--) {
    try {
      return await start();
    } catch (error) {
      if (remainingStarts === 0) throw error;
      progress(`the start failed and is repeated: ${messageOf(error).split('\n')[0]}`);
    }
  }
}

export async function killed({ pid, exited }: Child): Promise<void> {
  if (pid === undefined) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    return; // the process has ended
  }
  await exited;
}

/** @throws Problem with its last output, unless the process exits with code 0 */
export async function toItsEnd(child: Child): Promise<void> {
  const exit = await child.exited;
  if (exit.code !== 0) throw new Problem(describeExit(child, exit));
  progress(`${child.name}: ${child.lastLines(3).replaceAll('\n', '')}`);
}

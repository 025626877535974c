/** Divides the schedules of `npm run prove -- simulate --processes N` among processes, which have a database each. */
import { describeExit, startChild, type Child } from '../../../dev/stack/children.ts';
import { Problem } from '../../../dev/problem.ts';
import { Count, type PlayedSchedule } from './command.ts';

/**
 * @param args the arguments of the command, which each process also gets
 * @returns the exit code
 * @throws Problem when a process ends before its schedules
 */
export async function simulateInProcesses(
  args: readonly string[],
  { processes, keepsGoing }: { processes: number; keepsGoing: boolean },
): Promise<number> {
  const count = new Count();
  const children: Child[] = [];
  const stopOthers = async (than: Child) => {
    await Promise.all(children.filter((child) => child !== than).map((child) => child.stop()));
  };
  const playPart = async (part: number) => {
    const child = startChild({
      name: `process ${part + 1}`,
      command: process.execPath,
      args: [...process.execArgv, process.argv[1] ?? '', ...args, '--part', String(part)],
      logFile: undefined,
      attached: 'terminal',
    });
    children.push(child);
    child.onMessage((message) => count.add(message as PlayedSchedule));
    const exit = await child.exited;
    if (exit.wasRequested) return;
    if (exit.code === 1 && !keepsGoing) await stopOthers(child);
    if (exit.code === 0 || (exit.code === 1 && count.exitCode === 1)) return;
    await stopOthers(child);
    throw new Problem(describeExit(child, exit));
  };
  await Promise.all(Array.from({ length: processes }, (_, part) => playPart(part)));
  count.say();
  return count.exitCode;
}

/** `npm run check:tests`: fails when a file of the last `npm test` took longer than its budget. */
import { Problem, runScript, say } from '../../dev/problem.ts';
import { committedDurations, overBudget, readTimings } from './timings.ts';

await runScript(async () => {
  const measured = readTimings();
  const over = overBudget(measured, committedDurations());
  if (over.length > 0) {
    throw new Problem(
      [...over, 'Make it faster, or run `npm run test:durations` and say why it must be so.'].join('\n'),
    );
  }
  say(`${Object.keys(measured).length} test files are within their budgets.`);
  return 0;
});

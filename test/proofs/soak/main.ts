/**
 * `npm run prove -- soak --hours H` runs a club at a steady rate, with kills every few minutes. It reports lost facts and growing
 * resources.
 */
import { interruption } from '../../../dev/interruption.ts';
import { runScript } from '../../../dev/problem.ts';
import { soakArguments } from './arguments.ts';
import { soak } from './soak.ts';

await runScript(async () => {
  const { hours } = soakArguments(process.argv.slice(2));
  return soak(hours, interruption());
});

/**
 * `npm run prove -- simulate --seed N`: schedules of everything that can happen between two statements; a broken invariant is a failure.
 * `--without NAME` takes a rule of the engine out, which must be found (removed-rules.ts).
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Problem, runScript } from '../../../dev/problem.ts';
import { projectDirectory } from '../../../dev/project.ts';
import { removedRules, type RemovedRule } from './removed-rules.ts';

await runScript(async () => {
  const args = process.argv.slice(2);
  const at = args.indexOf('--without');
  const without = at === -1 ? undefined : ruleNamed(args.splice(at, 2)[1] ?? '');
  if (without) takeOut(without);
  // Loaded only now, so that what is taken out is missing.
  const { simulate, simulationArguments } = await import('./command.ts');
  const wanted = simulationArguments(
    without ? ['--engine', without.engine, ...(without.arguments ?? []), ...args] : args,
  );
  const play = () => simulate({ ...wanted, ...(without && { without }) });
  const { testStack } = await import('../../toolkit/stack/stack.ts');
  if (wanted.part !== undefined) {
    await testStack(); // of the process that divides the work
    return play();
  }
  const { startRunServer } = await import('../../run/server.ts');
  const { fileEnded } = await import('../../run/lifecycle.ts');
  const server = await startRunServer(1);
  process.env['TEST_RUN_URL'] = server.url;
  try {
    if (wanted.processes > 1) {
      const { simulateInProcesses } = await import('./processes.ts');
      const seeded = ['--seed', String(wanted.seed)]; // also where it was drawn: all play parts of one list
      return await simulateInProcesses([...process.argv.slice(2), ...seeded], wanted);
    }
    await testStack();
    return await play();
  } finally {
    await fileEnded();
    await server.stop();
  }
});

function ruleNamed(name: string): RemovedRule {
  const found = removedRules[name];
  if (!found) throw new Problem(`There is no rule ${name}. There are: ${Object.keys(removedRules).join(', ')}.`);
  return found;
}

function takeOut({ file, changes }: RemovedRule): void {
  const url = pathToFileURL(path.join(projectDirectory, file)).href;
  registerHooks({
    load(loaded, context, nextLoad) {
      const module = nextLoad(loaded, context);
      if (loaded.split('?')[0] !== url) return module;
      let text = readFileSync(new URL(url), 'utf8');
      for (const [find, put] of changes) {
        if (text.split(find).length !== 2) throw new Problem(`This does not stand once in ${file}: ${find}`);
        text = text.replace(find, () => put);
      }
      return { ...module, source: text };
    },
  });
}

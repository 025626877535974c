/**
 * `npm run prove -- simulate --seed N` plays schedules of the events that can happen between two statements.
 * A broken invariant is a failure.
 * `--without NAME` removes a rule of the engine, and the simulation must find the removal (removed-rules.ts).
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
  if (without) removeRule(without);
  // This import must come after the removal of the rule, so that the loaded modules do not contain the rule.
  const { simulate, simulationArguments } = await import('./command.ts');
  const options = simulationArguments(
    without ? ['--engine', without.engine, ...(without.arguments ?? []), ...args] : args,
  );
  const play = () => simulate({ ...options, ...(without && { without }) });
  const { testStack } = await import('../../toolkit/stack/stack.ts');
  if (options.part !== undefined) {
    await testStack(); // the parent process has started the stack
    return play();
  }
  const { startRunServer } = await import('../../run/server.ts');
  const { fileEnded } = await import('../../run/lifecycle.ts');
  const server = await startRunServer(1);
  process.env['TEST_RUN_URL'] = server.url;
  try {
    if (options.processes > 1) {
      const { simulateInProcesses } = await import('./processes.ts');
      // All processes play parts of one list of schedules, so each process gets the seed, even a random seed.
      const seeded = ['--seed', String(options.seed)];
      return await simulateInProcesses([...process.argv.slice(2), ...seeded], options);
    }
    await testStack();
    return await play();
  } finally {
    await fileEnded();
    await server.stop();
  }
});

function ruleNamed(name: string): RemovedRule {
  const rule = removedRules[name];
  if (!rule) throw new Problem(`No rule has the name ${name}. Names: ${Object.keys(removedRules).join(', ')}`);
  return rule;
}

function removeRule({ file, changes }: RemovedRule): void {
  const url = pathToFileURL(path.join(projectDirectory, file)).href;
  registerHooks({
    load(loadedUrl, context, nextLoad) {
      const module = nextLoad(loadedUrl, context);
      if (loadedUrl.split('?')[0] !== url) return module;
      let text = readFileSync(new URL(url), 'utf8');
      for (const [find, replacement] of changes) {
        if (text.split(find).length !== 2) throw new Problem(`${file} must contain this text exactly once: ${find}`);
        text = text.replace(find, () => replacement);
      }
      return { ...module, source: text };
    },
  });
}

/**
 * Loads the real workflows, and gives them the simulation instead of `@temporalio/workflow`. Modules outside the workflows still get the
 * real package.
 */
import { registerHooks } from 'node:module';

const mark = '?simulated';
const directory = new URL('../../../../workflows/', import.meta.url).href;
const stand = new URL('workflow.ts', import.meta.url).href;

type Workflows = Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>;
let loaded: Promise<Workflows> | undefined;

/** @returns the functions that workflows/index.ts exports, by workflow type */
export function simulatedWorkflows(): Promise<Workflows> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<Workflows> {
  registerHooks({
    resolve(specifier, context, nextResolve) {
      if (context.parentURL?.endsWith(mark) !== true) return nextResolve(specifier, context);
      if (specifier === '@temporalio/workflow') return { url: stand, shortCircuit: true };
      const resolved = nextResolve(specifier, context);
      return resolved.url.startsWith(directory) ? { ...resolved, url: `${resolved.url}${mark}` } : resolved;
    },
  });
  return (await import(`${directory}index.ts${mark}`)) as Workflows;
}

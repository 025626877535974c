/**
 * Replaces `@temporalio/workflow` in simulated runs, with only the functions that workflows/ uses. Each call affects the run that made the
 * call. module-hooks.ts loads this file instead of the module.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

/** The calls of workflow code to Temporal. */
export interface RunPrimitives {
  runActivity(name: string, args: readonly unknown[], options: ActivityLimits): Promise<unknown>;
  handle(signal: string, handler: () => void): void;
  waitFor(is: () => boolean, ms: number | undefined): Promise<boolean>;
  readonly continueAsNewSuggested: boolean;
}

export interface ActivityLimits {
  startToCloseTimeout: string;
  heartbeatTimeout?: string;
  retry?: { initialInterval?: string; backoffCoefficient?: number; maximumInterval?: string; maximumAttempts?: number };
  local?: boolean;
}

export class ContinuedAsNew extends Error {
  override name = 'ContinuedAsNew';
  readonly args: readonly unknown[];

  constructor(args: readonly unknown[]) {
    super('continued as new');
    this.args = args;
  }
}

export const runOfCode = new AsyncLocalStorage<RunPrimitives>();

function current(): RunPrimitives {
  const run = runOfCode.getStore();
  if (!run) throw new Error('No workflow is running');
  return run;
}

const proxy = (options: ActivityLimits) =>
  new Proxy(
    {},
    {
      get:
        (_, name) =>
        (...args: unknown[]) =>
          current().runActivity(String(name), args, options),
    },
  );

export const proxyActivities = (options: ActivityLimits) => proxy(options);
export const proxyLocalActivities = (options: ActivityLimits) => proxy({ ...options, local: true });
export const defineSignal = (name: string) => name;
export const setHandler = (signal: string, handler: () => void) => current().handle(signal, handler);
export const condition = (is: () => boolean, ms?: number) => current().waitFor(is, ms);
export const setCurrentDetails = () => {};
export const workflowInfo = () => ({ continueAsNewSuggested: current().continueAsNewSuggested });
export async function continueAsNew(...args: unknown[]): Promise<never> {
  throw new ContinuedAsNew(args);
}

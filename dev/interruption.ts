/** Listens for Ctrl-C and similar signals. */

/**
 * A second signal within this time counts as the same key press. The reason is that a terminal sends the signal to all processes, and npm
 * forwards it once more.
 */
const sameKeyMs = 1_000;

/**
 * Listens for SIGINT, SIGTERM and SIGHUP (a closed terminal) from now on.
 * @returns a promise of the first signal. A later signal ends this process immediately, and its children as well (children.ts).
 */
export function interruption(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    const listener = (signal: NodeJS.Signals) => {
      if (firstAt !== undefined && Date.now() - firstAt > sameKeyMs) process.exit(1);
      firstAt ??= Date.now();
      resolve(signal);
    };
    process.on('SIGINT', listener);
    process.on('SIGTERM', listener);
    process.on('SIGHUP', listener);
  });
}

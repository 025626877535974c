/** Listens for Ctrl-C and similar signals. */

/**
 * For one key press, the terminal signals all processes and npm forwards the signal again. So a second signal within this time does not
 * count.
 */
const sameKeyMs = 1_000;

/**
 * Listens for SIGINT, SIGTERM and SIGHUP (a closed terminal).
 * @returns the first signal. A later one ends this process and its children immediately (children.ts)
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

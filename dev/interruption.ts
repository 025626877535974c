/** Ctrl-C, and its kin. */

/** In which a second signal is the same key: a terminal sends it to everybody, and npm passes it on once more. */
const sameKeyMs = 1_000;

/**
 * Listens for SIGINT, SIGTERM and SIGHUP (a closed terminal) from now on.
 * @returns a promise of the first; a later one ends this process at once, and its children with it (children.ts)
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

/**
 * A test can stop this process at a failpoint, to see the state that it leaves. `FAILPOINT` names one:
 *
 * The process ends like after SIGKILL when it first reaches the failpoint.
 */
export function failpointFrom(env: Readonly<Record<string, string | undefined>>): (name: string) => Promise<void> {
  const armed = env['FAILPOINT'];
  if (armed === undefined || armed === '') return async () => {};
  return async (name) => {
    if (name !== armed) return;
    process.kill(process.pid, 'SIGKILL');
    await new Promise(() => {}); // the signal ends the process before any other code runs
  };
}

/**
 * How long the thread of an API is held: the longest stretch of work between two turns of its event loop. It is measured in CPU time of
 * the thread, because the clock of a busy machine also counts the time in which other processes run.
 */

interface LoopHolds {
  /** Begins a new measurement. */
  begin(): void;
  /** @returns the longest hold since `begin`, in milliseconds */
  longestMs(): number;
}

/** Looks at each turn of the event loop of the calling thread. Does not keep the process alive. */
export function watchHolds(): LoopHolds {
  let lastTurn = usedMs();
  let longest = 0;
  const look = () => {
    const now = usedMs();
    longest = Math.max(longest, now - lastTurn);
    lastTurn = now;
  };
  setInterval(look, 1).unref();
  return {
    begin() {
      lastTurn = usedMs();
      longest = 0;
    },
    longestMs() {
      look();
      return longest;
    },
  };
}

function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

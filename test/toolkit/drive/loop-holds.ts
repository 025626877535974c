/**
 * Measures how long the thread of an API is blocked: the longest work between two iterations of its event loop. It measures the CPU time of
 * the thread, because on a busy machine a clock would also count the time of other processes.
 */

interface LoopHolds {
  /** Begins a new measurement. */
  begin(): void;
  /** @returns the longest time since `begin` that the thread was blocked, in milliseconds */
  longestMs(): number;
}

/** Measures each iteration of the calling thread's event loop. It does not keep the process alive. */
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

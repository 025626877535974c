/**
 * Measures how long the thread of an API is blocked, which is the longest work between two iterations of its event loop. It measures CPU
 * time of the thread, because a clock would also count the time that a busy machine gives to other processes.
 */

interface LoopHolds {
  begin(): void;
  /** @returns the longest time since `begin` that the thread was blocked, in milliseconds */
  longestMs(): number;
}

/** Measures each iteration of the calling thread's event loop. The measurement does not keep the process alive. */
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

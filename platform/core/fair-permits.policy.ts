/**
 * Shares the permits of a process among clubs without a queue (DEC-121). A club gets one more permit only if it has fewer permits than are
 * free. So a single club gets at most half of the permits, and a second club at most half of the rest.
 */

/** @returns undefined if the club may have one more permit */
export function exhaustedLimit(all: number, used: { all: number; club: number }): 'club' | 'process' | undefined {
  const free = all - used.all;
  if (free <= 0) return 'process';
  return used.club >= free ? 'club' : undefined;
}

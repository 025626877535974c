/**
 * Shares the permits of a process among clubs without a queue (DEC-121). A club gets another permit only while it has fewer permits than
 * are free. So the first club gets at most half of the permits, a second club gets half of the remaining permits, and so on. A few clubs
 * can never have all
 * permits.
 */

/**
 * @param all the permits of the process
 * @param used the permits in use: by all clubs, and by the club that requests one more permit
 * @returns the limit that prevents one more permit; undefined if the club may have one more permit
 */
export function exhaustedLimit(all: number, used: { all: number; club: number }): 'club' | 'process' | undefined {
  const free = all - used.all;
  if (free <= 0) return 'process';
  return used.club >= free ? 'club' : undefined;
}

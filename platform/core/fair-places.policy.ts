/**
 * How clubs share the places of a process when nobody waits in line (DEC-121). A club gets one more place only while it has fewer than
 * are free: alone it has half of them, a second club has half of the rest, and so on. So no few clubs have all.
 */

/**
 * @param all places of the process
 * @param taken places: of everybody, and of the club that wants another one
 * @returns whose bound keeps the club from it; undefined if it may have the place
 */
export function fullFor(all: number, taken: { all: number; club: number }): 'club' | 'process' | undefined {
  const free = all - taken.all;
  if (free <= 0) return 'process';
  return taken.club >= free ? 'club' : undefined;
}

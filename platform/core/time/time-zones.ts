/** Checks the names of time zones. Only Node decides which zones exist and what their clocks show (DEC-154). */

const known = new Map<string, boolean>();

/** @returns whether Node has rules for the zone */
export function isKnownHere(zone: string): boolean {
  const before = known.get(zone);
  if (before !== undefined) return before;
  const answer = canFormat(zone);
  if (known.size < mostRemembered) known.set(zone, answer);
  return answer;
}

/**
 * The maximum size of the cache, which is more than the number of zones. Without this limit, invented names of callers could fill the
 * memory.
 */
const mostRemembered = 2_000;

function canFormat(timeZone: string): boolean {
  try {
    Intl.DateTimeFormat('en', { timeZone });
    return true;
  } catch {
    return false;
  }
}

/** A stored zone may be unknown to this Node, because another Node version accepted it. Its clock then shows UTC, and `doctor` reports
 * it. */
export function zoneHere(zone: string): string {
  return isKnownHere(zone) ? zone : 'UTC';
}

/**
 * The three-letter names of zones in the IANA database. ICU also knows other three-letter names, such as `PST`, but the IANA database has
 * no zone with such a name.
 */
const shortNames = new Set(['CET', 'EET', 'EST', 'GMT', 'HST', 'MET', 'MST', 'PRC', 'ROC', 'ROK', 'UCT', 'UTC', 'WET']);
const canonical = new Map(Intl.supportedValuesOf('timeZone').map((name) => [name.toLowerCase(), name]));

/** @returns whether a person may choose the name: Node knows it, and it is spelled as in the IANA database */
export function isZoneName(name: string): boolean {
  const named = canonical.get(name.toLowerCase());
  if (named !== undefined) return named === name;
  if (!isKnownHere(name) || (name.length === 3 && !shortNames.has(name))) return false;
  // ICU uses another name for some zones, such as Asia/Calcutta for Asia/Kolkata. For these names Node does not report the correct
  // spelling.
  const parts = name.split('/');
  return parts[0] !== 'SystemV' && parts.every((part) => isSpelled(part, parts.length > 1));
}

/**
 * Checks the spelling of one part of a zone's name. In a path, a part that has only capitals has at most three letters, such as `GMT`,
 * `NSW` and `UCT`.
 */
function isSpelled(part: string, isOfPath: boolean): boolean {
  return /^[A-Z]/.test(part) && !(isOfPath && part.length > 3 && /^[A-Z_]+$/.test(part));
}

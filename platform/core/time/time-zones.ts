/** Checks the names of time zones. Only Node decides which zones exist and what their clocks show (DEC-154). */

const known = new Map<string, boolean>();

export function isKnownHere(zone: string): boolean {
  const before = known.get(zone);
  if (before !== undefined) return before;
  const answer = canFormat(zone);
  if (known.size < mostRemembered) known.set(zone, answer);
  return answer;
}

/** There are fewer zones than this. The limit keeps invented names from filling the memory. */
const mostRemembered = 2_000;

function canFormat(timeZone: string): boolean {
  try {
    Intl.DateTimeFormat('en', { timeZone });
    return true;
  } catch {
    return false;
  }
}

/** Another Node version may have accepted a zone that this Node does not know. Its clock then shows UTC, and `doctor` reports it. */
export function zoneHere(zone: string): string {
  return isKnownHere(zone) ? zone : 'UTC';
}

/** The three-letter names in the IANA database. ICU also knows others, such as `PST`. */
const shortNames = new Set(['CET', 'EET', 'EST', 'GMT', 'HST', 'MET', 'MST', 'PRC', 'ROC', 'ROK', 'UCT', 'UTC', 'WET']);
const canonical = new Map(Intl.supportedValuesOf('timeZone').map((name) => [name.toLowerCase(), name]));

/** @returns whether Node knows the zone, and the name is spelled as in the IANA database */
export function isZoneName(name: string): boolean {
  const named = canonical.get(name.toLowerCase());
  if (named !== undefined) return named === name;
  if (!isKnownHere(name) || (name.length === 3 && !shortNames.has(name))) return false;
  // ICU uses other names for some zones, such as Asia/Calcutta for Asia/Kolkata, so Node does not report their spelling.
  const parts = name.split('/');
  return parts[0] !== 'SystemV' && parts.every((part) => isSpelled(part, parts.length > 1));
}

/** If the name is a path, a part of only capitals has at most three letters, such as `NSW`. */
function isSpelled(part: string, isOfPath: boolean): boolean {
  return /^[A-Z]/.test(part) && !(isOfPath && part.length > 3 && /^[A-Z_]+$/.test(part));
}

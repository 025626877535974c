/** Names of time zones. Node alone decides which zones exist and what their clocks show (DEC-154). */

const known = new Map<string, boolean>();

/** @returns whether Node has rules for the zone */
export function isKnownHere(zone: string): boolean {
  const before = known.get(zone);
  if (before !== undefined) return before;
  const answer = canFormat(zone);
  if (known.size < mostRemembered) known.set(zone, answer);
  return answer;
}

/** More than the number of zones. The limit keeps invented names of callers from filling the memory. */
const mostRemembered = 2_000;

function canFormat(timeZone: string): boolean {
  try {
    Intl.DateTimeFormat('en', { timeZone });
    return true;
  } catch {
    return false;
  }
}

/** A stored zone may be unknown to this Node, because another version accepted it. Its clock shows UTC then, and `doctor` reports it. */
export function zoneHere(zone: string): string {
  return isKnownHere(zone) ? zone : 'UTC';
}

/** Three-letter names in the IANA database. ICU knows more, such as `PST`, which are not zone names there. */
const shortNames = new Set(['CET', 'EET', 'EST', 'GMT', 'HST', 'MET', 'MST', 'PRC', 'ROC', 'ROK', 'UCT', 'UTC', 'WET']);
const canonical = new Map(Intl.supportedValuesOf('timeZone').map((name) => [name.toLowerCase(), name]));

/** @returns whether a person may choose the name: Node knows it, and its spelling equals the IANA database's */
export function isZoneName(name: string): boolean {
  const named = canonical.get(name.toLowerCase());
  if (named !== undefined) return named === name;
  if (!isKnownHere(name) || (name.length === 3 && !shortNames.has(name))) return false;
  // An old name, such as Asia/Kolkata beside ICU's Asia/Calcutta: Node does not say how it is spelled.
  const parts = name.split('/');
  return parts[0] !== 'SystemV' && parts.every((part) => isSpelled(part, parts.length > 1));
}

/** The longest parts in capitals alone are `GMT`, `NSW` and `UCT`. */
function isSpelled(part: string, isOfPath: boolean): boolean {
  return /^[A-Z]/.test(part) && !(isOfPath && part.length > 3 && /^[A-Z_]+$/.test(part));
}

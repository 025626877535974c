/** Durations in words, for people. */

const units = [
  { ms: 86_400_000, name: 'd' },
  { ms: 3_600_000, name: 'h' },
  { ms: 60_000, name: 'min' },
  { ms: 1_000, name: 's' },
] as const;

/** @returns a text such as "in about 2 h" */
export function inAbout(ms: number): string {
  const unit = units.find((candidate) => ms >= candidate.ms);
  return unit ? `in about ${Math.round(ms / unit.ms)} ${unit.name}` : 'at once';
}

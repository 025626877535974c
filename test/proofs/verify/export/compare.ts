/** Compares the exports of two clubs, after the ids and times of both are replaced. */
import type { CopiedRecord } from './api.ts';
import { isCompared, type ExportedClub, type Ids } from './importer.ts';

/** Times that an import sets. Other times say when something happened in one of the clubs. */
const importedTimes: ReadonlySet<string> = new Set(['starts_at', 'ends_at', 'due_at', 'closes_at']);
/** Names that are unique among all clubs, values that the service draws, and numbers of the plan. */
const ofOneClub: ReadonlySet<string> = new Set([
  'slug',
  'club_slug',
  'start',
  'logo_url',
  'expires_at',
  'last_used_at',
  'created_by',
]);
const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const time = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/;

interface Comparison {
  compared: number;
  differences: string[];
}

export function compare(first: ExportedClub, second: ExportedClub, ids: Ids): Comparison {
  const back = new Map([...ids].map(([one, other]) => [other, one]));
  let compared = 0;
  const differences: string[] = [];
  for (const [type, lines] of Object.entries(first.lines)) {
    if (!isCompared(type)) continue;
    const ofFirst = lines.map((line) => JSON.stringify(plain(line, (id) => (ids.has(id) ? id : 'unknown'))));
    const ofSecond = (second.lines[type] ?? []).map((line) =>
      JSON.stringify(plain(line, (id) => back.get(id) ?? 'unknown')),
    );
    compared += ofFirst.length;
    for (const [one, other, where] of [
      [ofFirst, ofSecond, 'first'],
      [ofSecond, ofFirst, 'second'],
    ] as const) {
      const remaining = [...other];
      for (const line of one) {
        const at = remaining.indexOf(line);
        if (at === -1) differences.push(`only in the ${where}: ${type} ${line}`);
        else remaining.splice(at, 1);
      }
    }
  }
  return { compared, differences };
}

function plain(value: CopiedRecord, idOf: (id: string) => string, name = ''): CopiedRecord {
  if (ofOneClub.has(name)) return undefined;
  if (typeof value === 'string') {
    if (name.endsWith('_at') && time.test(value)) return importedTimes.has(name) ? value : 'time';
    return name === 'url' && /\/(?:r|join)\//.test(value) ? 'address' : value.replaceAll(uuid, idOf);
  }
  if (Array.isArray(value)) return value.map((part) => plain(part, idOf));
  if (typeof value !== 'object' || value === null) return value;
  const sorted = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(sorted.map(([key, part]) => [key, plain(part, idOf, key)]));
}

/**
 * `npm run bench -- extraction [kind …]`: how well the product reads the files of the gold set, for each kind and for all kinds, with the
 * faults of each file. `Judgement` defines the shares.
 */
import { extract } from '../../domain/knowledge/extraction/extraction.ts';
import type { Source } from '../../domain/knowledge/extraction/extraction-thread.ts';
import { recordLine } from '../figures.ts';
import { goldKinds, readGoldFile, readGoldSet, type Gold } from './gold.ts';
import { judge, type Judgement, type Reading, type Share } from './judge.ts';

export const extractionMeasurements: readonly string[] = goldKinds;

export async function benchExtraction(selection: readonly string[]): Promise<void> {
  const set = (await readGoldSet()).filter(({ kind }) => selection.includes(kind));
  const judged: { gold: Gold; judgement: Judgement }[] = [];
  for (const gold of set) judged.push({ gold, judgement: judge(gold, await readGold(gold)) });
  for (const kind of goldKinds) {
    const own = judged.filter(({ gold }) => gold.kind === kind).map(({ judgement }) => judgement);
    if (own.length > 0) process.stdout.write(`${figuresOf(`extraction ${kind}`, own)}\n`);
  }
  const all = judged.map(({ judgement }) => judgement);
  process.stdout.write(`${figuresOf('extraction', all)}\n`);
  // The figures are saved only if the whole set was measured.
  if (goldKinds.every((kind) => selection.includes(kind))) {
    const figures = countsOf(all).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]]));
    recordLine('extraction', Object.fromEntries(figures));
  }
  for (const { gold, judgement } of judged) {
    if (judgement.faults.length === 0) continue;
    process.stdout.write(`\n${gold.file}\n${judgement.faults.map((fault) => `  ${fault}\n`).join('')}`);
  }
}

/** Like the worker. */
export async function readGold(gold: Gold): Promise<Reading> {
  const bytes = await readGoldFile(gold);
  const language = gold.language.startsWith('pt') ? 'pt' : 'en';
  const source: Source =
    gold.kind === 'lesson'
      ? { kind: 'lesson', language, markdown: Buffer.from(bytes).toString('utf8') }
      : { kind: 'media', language, bytes, says: gold.says };
  return extract(source, { onPage: () => {}, signal: new AbortController().signal });
}

/** @param name their kind */
export function figuresOf(name: string, judgements: readonly Judgement[]): string {
  const text = (key: string, value: number | undefined) =>
    isShare(key) ? (value?.toFixed(2) ?? 'none') : String(value);
  const counts = countsOf(judgements).map(([key, value]) => `${key} ${text(key, value)}`);
  return `${name} ${counts.join(', ')}`;
}

const isShare = (key: string) => /right$|^warned$/.test(key);

/** @returns undefined if no file has such a share */
function countsOf(judgements: readonly Judgement[]): [name: string, value: number | undefined][] {
  // The share is rounded down, so that it is 1 only if everything is right.
  const share = (shares: readonly Share[]) => {
    const [right, of] = [sum(shares.map((one) => one.right)), sum(shares.map((one) => one.of))];
    return of === 0 ? undefined : Math.floor((right / of) * 100) / 100;
  };
  return [
    ['files', judgements.length],
    ['words right', share(judgements.map(({ words }) => words))],
    ['numbers right', share(judgements.map(({ numbers }) => numbers))],
    ['order right', share(judgements.map(({ order }) => order))],
    ['cells right', share(judgements.map(({ cells }) => cells))],
    ['warned', share(judgements.map(({ warned }) => warned))],
    ['lost silently', sum(judgements.map(({ lostSilently }) => lostSilently))],
    ['shown wrongly', sum(judgements.map(({ shownWrongly }) => shownWrongly))],
  ];
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, number) => all + number, 0);

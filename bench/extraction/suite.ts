/**
 * `npm run bench -- extraction [kind …]`: how well the files of the gold set are read. It prints a line for each kind and one for all,
 * then each fault, by file. The shares are those of `Judgement`, over all words, numbers and cells of the files.
 */
import { extract } from '../../domain/knowledge/extraction/extraction.ts';
import type { Source } from '../../domain/knowledge/extraction/extraction-thread.ts';
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
  process.stdout.write(
    `${figuresOf(
      'extraction',
      judged.map(({ judgement }) => judgement),
    )}\n`,
  );
  for (const { gold, judgement } of judged) {
    if (judgement.faults.length === 0) continue;
    process.stdout.write(`\n${gold.file}\n${judgement.faults.map((fault) => `  ${fault}\n`).join('')}`);
  }
}

/** Reads the file as the worker does. */
export async function readGold(gold: Gold): Promise<Reading> {
  const bytes = await readGoldFile(gold);
  const language = gold.language.startsWith('pt') ? 'pt' : 'en';
  const source: Source =
    gold.kind === 'lesson'
      ? { kind: 'lesson', language, markdown: Buffer.from(bytes).toString('utf8') }
      : { kind: 'media', language, bytes, says: gold.says };
  return extract(source, { onPage: () => {}, signal: new AbortController().signal });
}

/** The line of figures of some files. @param name their kind */
export function figuresOf(name: string, judgements: readonly Judgement[]): string {
  const share = (shares: readonly Share[]) => {
    const [right, of] = [sum(shares.map((one) => one.right)), sum(shares.map((one) => one.of))];
    return of === 0 ? 'none' : (Math.floor((right / of) * 100) / 100).toFixed(2); // only a perfect result is shown as 1.00
  };
  return [
    `${name} files ${judgements.length}`,
    `words right ${share(judgements.map(({ words }) => words))}`,
    `numbers right ${share(judgements.map(({ numbers }) => numbers))}`,
    `order right ${share(judgements.map(({ order }) => order))}`,
    `cells right ${share(judgements.map(({ cells }) => cells))}`,
    `warned ${share(judgements.map(({ warned }) => warned))}`,
    `lost silently ${sum(judgements.map(({ lostSilently }) => lostSilently))}`,
    `shown wrongly ${sum(judgements.map(({ shownWrongly }) => shownWrongly))}`,
  ].join(', ');
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, number) => all + number, 0);

/**
 * The answers of the fake model without a script. It cites the sentences of the search results that share the most words with the question;
 * rare words count more. If no sentence fits, it says that it does not know.
 */
import { questionOf, searchResultsOf, type ModelRequest } from './request.ts';

export interface AnswerBlock {
  /** Joined together, they are the text of the block. */
  readonly deltas: readonly string[];
  readonly citations: readonly Cited[];
}

/** A range of the text blocks in a search result; the end is exclusive. */
export interface Cited {
  readonly result: number;
  readonly start: number;
  readonly end: number;
}

interface Sentence extends Cited {
  readonly text: string;
  readonly title: string;
  readonly words: ReadonlySet<string>;
}

export const nothingFits = 'I could not find anything about this in the material that I was given.';

const maxCited = 3;
/** The forms of a word differ at the end. So words are compared by their first letters, without a final s. */
const comparedLetters = 6;
const shortestWord = 4;
/** These words are frequent in questions, and name no subject. */
const askingWords = new Set(
  'about does from have here into long many much must shall should that their them then there these they this what when where which whom whose will with would your como deve devem esse essa este esta isso isto mais muito onde para pela pelo porque qual quais quando quanto quantos quem sobre tenho'.split(
    ' ',
  ),
);

export function answerOf(request: ModelRequest): AnswerBlock[] {
  const images = request.messages.at(-1)?.content.filter(({ type }) => type === 'image').length ?? 0;
  const imageNote =
    images > 0 ? [textBlock(`(With your question came ${images === 1 ? 'an image' : `${images} images`}.)\n\n`)] : [];
  const found = bestSentences(request);
  if (found.length === 0) return [...imageNote, textBlock(nothingFits)];
  const points = found.flatMap(({ title, text, result, start, end }) => [
    textBlock(`- **${title}**: `),
    { ...textBlock(text.trim()), citations: citationsAreOn(request) ? [{ result, start, end }] : [] },
    textBlock('\n'),
  ]);
  return [...imageNote, textBlock('This is what the material says:\n\n'), ...points];
}

function bestSentences(request: ModelRequest): Sentence[] {
  const questionWords = wordsOf(questionOf(request));
  const sentences = searchResultsOf(request).flatMap(({ title, content }, result) =>
    content.map(({ text }, start): Sentence => ({ title, text, result, start, end: start + 1, words: wordsOf(text) })),
  );
  const weights = new Map(
    [...questionWords].map((word) => {
      const holding = sentences.filter(({ words }) => words.has(word)).length;
      return [word, Math.log(1 + sentences.length / Math.max(1, holding))];
    }),
  );
  const shared = ({ words }: Sentence) => [...questionWords].filter((word) => words.has(word));
  const scoreOf = (sentence: Sentence) => shared(sentence).reduce((sum, word) => sum + (weights.get(word) ?? 0), 0);
  const enough = Math.min(2, questionWords.size);
  const scored = sentences
    .filter((sentence) => enough > 0 && shared(sentence).length >= enough)
    .map((sentence) => ({ sentence, score: scoreOf(sentence) }))
    .toSorted((a, b) => b.score - a.score);
  const best = scored[0]?.score ?? 0;
  const chosen = scored.filter(({ score }) => score >= best / 2).slice(0, maxCited);
  return joinNeighbours(chosen.map(({ sentence }) => sentence));
}

/** Joins neighbouring sentences of one search result, so that some citations span several blocks. */
function joinNeighbours(chosen: readonly Sentence[]): Sentence[] {
  const joined: Sentence[] = [];
  for (const sentence of chosen) {
    const at = joined.findIndex(
      ({ result, start, end }) => result === sentence.result && (end === sentence.start || start === sentence.end),
    );
    const other = joined[at];
    if (!other) joined.push(sentence);
    else {
      const [first, second] = other.start < sentence.start ? [other, sentence] : [sentence, other];
      joined[at] = { ...first, end: second.end, text: first.text + second.text };
    }
  }
  return joined;
}

function citationsAreOn(request: ModelRequest): boolean {
  return searchResultsOf(request).some(({ citations }) => citations?.enabled);
}

/** A block without a citation. Each delta has about three words, as in the real service. */
function textBlock(text: string): AnswerBlock {
  return { deltas: text.match(/(?:\S+\s*|\s+){1,3}/g) ?? [text], citations: [] };
}

/** The words are in lower case, without accents and endings. */
function wordsOf(text: string): Set<string> {
  const words =
    text
      .normalize('NFD')
      .replace(/\p{M}/gu, '')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return new Set(
    words
      .filter((word) => (word.length >= shortestWord || /\d/.test(word)) && !askingWords.has(word))
      .map((word) => word.replace(/s$/, '').slice(0, comparedLetters)),
  );
}

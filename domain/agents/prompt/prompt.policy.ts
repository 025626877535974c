/**
 * How much a prompt holds at most. One set of bounds for who builds prompts and for who reserves what they may cost: a prompt
 * within them never has more tokens than {@link maxPromptTokens}.
 */

export const promptBounds = {
  /** Of earlier questions and answers together: the newest turns that fit whole. */
  historyCharacters: 24_000,
  historyTurns: 40,
  passages: 12,
  passageCharacters: 800,
  /** What stands over a passage: its title and headings. */
  passageHeadCharacters: 200,
  images: 2,
} as const;

/** Upper bounds in tokens of what is not counted byte by byte. */
const max = {
  /** Our own words around everything, in bytes. */
  frame: 6_000,
  /** Around a question or an answer: its role. */
  message: 20,
  image: 5_000,
  /** Between the blocks of a passage. */
  passageFrame: 1_000,
} as const;

/** No character has more in UTF-8. */
const bytesACharacter = 4;

/** A question and its answer. */
export interface Turn {
  question: string;
  answer: string;
}

/** @param newestFirst as many as {@link promptBounds} allows, or more @returns those that fit, oldest first */
export function turnsThatFit<T extends Turn>(newestFirst: readonly T[]): T[] {
  const kept: T[] = [];
  let left: number = promptBounds.historyCharacters;
  for (const turn of newestFirst.slice(0, promptBounds.historyTurns)) {
    left -= charactersOf(turn.question) + charactersOf(turn.answer);
    if (left < 0) break;
    kept.unshift(turn);
  }
  return kept;
}

/** The parts of a prompt whose length is known when its question comes. */
export interface PromptParts {
  instructions: string;
  history: readonly Turn[];
  question: string;
  /** How many. */
  images: number;
}

/** @returns the most tokens that a prompt of these parts can have: no token of a model is shorter than a byte */
export function maxPromptTokens({ instructions, history, question, images }: PromptParts): number {
  const { passages, passageCharacters, passageHeadCharacters } = promptBounds;
  const passage = (passageCharacters + passageHeadCharacters) * bytesACharacter + max.passageFrame;
  const turns = history.map((turn) => bytesOf(turn.question) + bytesOf(turn.answer) + 2 * max.message);
  return (
    max.frame +
    bytesOf(instructions) +
    turns.reduce((sum, tokens) => sum + tokens, 0) +
    bytesOf(question) +
    max.message +
    images * max.image +
    passages * passage
  );
}

/** In code points, as the contract counts. */
function charactersOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

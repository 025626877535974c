/**
 * How much a prompt holds at most, and how many tokens that is likely to be. One set of bounds for who builds prompts and for
 * who reserves what they may cost.
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

/** In tokens, on the high side, of what is not known or not text. */
const tokens = {
  /** Our own words around everything, and the agent's name. */
  frame: 1_500,
  /** Around a question or an answer: its role. */
  message: 20,
  image: 5_000,
  /** Between the blocks of a passage. */
  passageFrame: 100,
} as const;

/** On the low side of what models make of prose, so that an estimate of tokens is on the high side. */
const charactersAToken = 3;
/** The same of characters beyond ASCII: two bytes a token, so that a letter with an accent is one, and a Chinese sign one and a half. */
const bytesAToken = 2;
/** Of passages whose language is not known. */
const charactersATokenOfPassages = 2;

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

/** @returns how many tokens a prompt of these parts is likely to have, on the high side */
export function likelyPromptTokens({ instructions, history, question, images }: PromptParts): number {
  const { passages, passageCharacters, passageHeadCharacters } = promptBounds;
  const passage = (passageCharacters + passageHeadCharacters) / charactersATokenOfPassages + tokens.passageFrame;
  const turns = history.map((turn) => likelyTokens(turn.question) + likelyTokens(turn.answer) + 2 * tokens.message);
  return (
    tokens.frame +
    likelyTokens(instructions) +
    turns.reduce((sum, ofTurn) => sum + ofTurn, 0) +
    likelyTokens(question) +
    tokens.message +
    images * tokens.image +
    passages * passage
  );
}

/** @returns how many tokens a text is likely to have, on the high side */
export function likelyTokens(text: string): number {
  const ascii = text.replace(/[^\0-\x7f]+/g, '').length;
  return Math.ceil(ascii / charactersAToken + (bytesOf(text) - ascii) / bytesAToken);
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

/**
 * The bounds of a prompt and its likely number of tokens. The building of a prompt and the reservation of its cost use the same bounds.
 */

export const promptBounds = {
  /** Characters of earlier questions and answers together: the newest turns that fit whole. */
  historyCharacters: 24_000,
  historyTurns: 40,
  passages: 12,
  passageCharacters: 800,
  /** Characters of the title and headings above a passage. */
  passageHeadCharacters: 200,
  images: 2,
} as const;

/** Tokens, on the high side, for parts whose length is unknown or that are not text. */
const tokens = {
  /** Our own instructions and the agent's name. */
  frame: 1_500,
  /** The role of a question or an answer. */
  message: 20,
  image: 5_000,
  /** Separators between the blocks of a passage. */
  passageFrame: 100,
} as const;

/** Lower than in usual prose, so that an estimate of tokens is on the high side. */
const charactersAToken = 3;
/** For characters beyond ASCII: two bytes per token. A letter with an accent is then one token, a Chinese character one and a half. */
const bytesAToken = 2;
/** For passages, whose language is unknown. */
const charactersATokenOfPassages = 2;

/** A question and its answer. */
export interface Turn {
  question: string;
  answer: string;
}

/** @param newestFirst as many turns as {@link promptBounds} allows, or more @returns the turns that fit, oldest first */
export function turnsThatFit<T extends Turn>(newestFirst: readonly T[]): T[] {
  const fittingTurns: T[] = [];
  let remainingCharacters: number = promptBounds.historyCharacters;
  for (const turn of newestFirst.slice(0, promptBounds.historyTurns)) {
    remainingCharacters -= charactersOf(turn.question) + charactersOf(turn.answer);
    if (remainingCharacters < 0) break;
    fittingTurns.unshift(turn);
  }
  return fittingTurns;
}

/** The parts of a prompt whose length is known when its question arrives. */
export interface PromptParts {
  instructions: string;
  history: readonly Turn[];
  question: string;
  /** Their number. */
  images: number;
}

/** @returns the likely number of tokens of a prompt with these parts, on the high side */
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

/** @returns the likely number of tokens of a text, on the high side */
export function likelyTokens(text: string): number {
  const ascii = text.replace(/[^\0-\x7f]+/g, '').length;
  return Math.ceil(ascii / charactersAToken + (bytesOf(text) - ascii) / bytesAToken);
}

/** Counts code points, like the contract. */
function charactersOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

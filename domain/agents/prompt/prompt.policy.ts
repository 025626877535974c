/** Defines the limits of a prompt, and estimates the number of its tokens. The prompt and the reserve of its cost use the same limits. */

export const promptBounds = {
  /** The maximum number of characters of earlier questions and answers together. The newest turns that fit completely are used. */
  historyCharacters: 24_000,
  historyTurns: 40,
  passages: 12,
  passageCharacters: 800,
  /** The maximum number of characters of the title and headings above a passage. */
  passageHeadCharacters: 200,
  images: 2,
} as const;

/** Estimates for the parts that are not text or have an unknown length. They are a little too high on purpose. */
const tokens = {
  /** The estimate for the platform's instructions and the agent's name. */
  frame: 1_500,
  /** The estimate for the role name of a question or an answer. */
  message: 20,
  image: 5_000,
  /** The estimate for the separators between the blocks of a passage. */
  passageFrame: 100,
} as const;

/** Fewer characters per token than in usual prose, so that an estimate is more often too high than too low. */
const charactersAToken = 3;
/** Beyond ASCII, two bytes count as one token: a letter with an accent is one token, a Chinese character one and a half. */
const bytesAToken = 2;
/** Used for passages, because their language is unknown. */
const charactersATokenOfPassages = 2;

export interface Turn {
  question: string;
  answer: string;
}

/**
 * @param newestFirst the questions and answers of a conversation, newest first. The list may be longer than {@link promptBounds} allows
 * @returns the newest turns that fit into these bounds, oldest first
 */
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

/** The parts of a prompt whose length is known when the question arrives. */
export interface PromptParts {
  instructions: string;
  history: readonly Turn[];
  question: string;
  /** Their number. */
  images: number;
}

/** @returns an estimate of the tokens of a prompt with these parts; it is more often too high than too low */
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

/** @returns an estimate of the tokens of a text; it is more often too high than too low */
export function likelyTokens(text: string): number {
  const ascii = text.replace(/[^\0-\x7f]+/g, '').length;
  return Math.ceil(ascii / charactersAToken + (bytesOf(text) - ascii) / bytesAToken);
}

/** Counts code points, as the contract does. */
function charactersOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

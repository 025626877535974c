/** Refusals that students read on the screen. All other refusals address the programmer of a client. */
import type { ErrorCode } from '../../platform/core/error-codes.ts';
import { DomainError, type ErrorHeaders } from '../../platform/core/errors.ts';
import type { MessageArguments, MessageKey } from './arguments.ts';
import { defaultLanguage, languageOf } from './languages.ts';
import { wordingIn, type Wording } from './wording.ts';

export type RefusalKey = Extract<MessageKey, `refusal.${string}`>;

/** Messages without values. */
export type PlainRefusalKey = {
  [Key in RefusalKey]: keyof MessageArguments[Key] extends never ? Key : never;
}[RefusalKey];

/** A message of the catalogues, by its key or by a function that fills in its values. */
export type RefusalWords = PlainRefusalKey | ((wording: Wording) => string);

interface RefusalDetails extends ErrorHeaders {
  /** The message for programmers and administrators; by default, the English message. */
  readonly technical?: string;
}

/** A refusal with a message in the student's own language. Its code and headers do not depend on the language. */
export class RefusalToPerson extends DomainError {
  private readonly words: RefusalWords;

  constructor(code: ErrorCode, words: RefusalWords, { technical, ...headers }: RefusalDetails = {}) {
    super(code, technical ?? messageOf(words, wordingIn(defaultLanguage)), headers);
    this.words = words;
  }

  /** @param tags BCP 47 tags, the preferred first; null for none */
  messageIn(...tags: readonly (string | null | undefined)[]): string {
    return messageOf(this.words, wordingIn(languageOf(...tags)));
  }
}

function messageOf(words: RefusalWords, wording: Wording): string {
  return typeof words === 'string' ? wording.say(words) : words(wording);
}

/** @returns whole minutes for a message, at least 1 */
export function minutesOf(seconds: number): number {
  return Math.max(1, Math.ceil(seconds / 60));
}

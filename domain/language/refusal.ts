/** Refusals that the person in front of the screen reads, and not the programmer of a client. */
import type { ErrorCode } from '../../platform/core/error-codes.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { MessageKey } from './arguments.ts';
import { languageOf } from './languages.ts';
import { wordingIn } from './wording.ts';

type RefusalKey = Extract<MessageKey, `refusal.${string}`>;

/** A refusal with a message of the catalogues. Its own message is in the club's language. */
export class RefusalToPerson extends DomainError {
  private readonly key: RefusalKey;
  private readonly clubLanguage: string | null;

  constructor(code: ErrorCode, key: RefusalKey, clubLanguage: string | null) {
    super(code, wordingIn(languageOf(clubLanguage)).say(key));
    this.key = key;
    this.clubLanguage = clubLanguage;
  }

  /** @param own BCP 47 tag of the reader's own language; null for the club's @returns the message for the reader */
  messageIn(own: string | null): string {
    return wordingIn(languageOf(own, this.clubLanguage)).say(this.key);
  }
}

/** @returns the refusal, in the language of the club */
export async function refusalToPerson(
  db: Queries,
  clubId: Id,
  code: ErrorCode,
  key: RefusalKey,
): Promise<RefusalToPerson> {
  const club = await db.one<{ language: string }>(sql`SELECT language FROM clubs WHERE id = ${clubId}`);
  return new RefusalToPerson(code, key, club?.language ?? null);
}

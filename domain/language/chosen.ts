/** Chooses a language for a person, a browser or a club. */
import Negotiator from 'negotiator';
import type { RecordOf } from '../../contract/contract.ts';
import { languages as searchedLanguages } from '../../entities/clubs/values.ts';
import { DomainError } from '../../platform/core/errors.ts';
import { isOffered, nearestLanguage, offeredLanguages, type OfferedLanguage } from './languages.ts';

/**
 * @param acceptLanguage the header of a request; empty if it has none
 * @returns the offered language that the reader prefers; null if no language of the header is offered
 */
export function acceptedLanguage(acceptLanguage: string): OfferedLanguage | null {
  for (const tag of new Negotiator({ headers: { 'accept-language': acceptLanguage } }).languages()) {
    const nearest = nearestLanguage(tag);
    if (nearest) return nearest;
  }
  return null;
}

/** @returns the tag, spelled as in the catalogues @throws DomainError invalid_request, with the offered tags */
export function requireOffered(tag: string): OfferedLanguage {
  if (isOffered(tag)) return tag;
  throw new DomainError(
    'invalid_request',
    `language ${JSON.stringify(tag)} is not offered. Send one of ${offeredLanguages.join(', ')}.`,
  );
}

/**
 * BCP 47 tag of a language that a club may choose. The service either has a catalogue for the language, or can search texts by the rules of
 * the language.
 */
export type ClubLanguage = RecordOf<'Club'>['language'];

const clubLanguages = [...offeredLanguages, ...searchedLanguages] as const satisfies readonly ClubLanguage[];

/**
 * @param tag the stored tag
 * @returns the club's language; English for a tag that only a later release knows
 */
export function clubLanguageOf(tag: string): ClubLanguage {
  return clubLanguages.find((known) => known === tag) ?? 'en';
}

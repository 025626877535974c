/** Choosing a language: by a person, by a browser, by a club. */
import Negotiator from 'negotiator';
import { languages as searchedLanguages } from '../../entities/clubs/values.ts';
import { DomainError } from '../../platform/core/errors.ts';
import { isOffered, nearestLanguage, offeredLanguages, type OfferedLanguage } from './languages.ts';

/**
 * @param acceptLanguage the header of a request; empty if it has none
 * @returns the preferred one of the offered languages, or null
 */
export function acceptedLanguage(acceptLanguage: string): OfferedLanguage | null {
  for (const tag of new Negotiator({ headers: { 'accept-language': acceptLanguage } }).languages()) {
    const nearest = nearestLanguage(tag);
    if (nearest) return nearest;
  }
  return null;
}

/** @returns the tag as it is written in the catalogue @throws DomainError invalid_request, with the offered ones */
export function requireOffered(tag: string): OfferedLanguage {
  if (isOffered(tag)) return tag;
  throw unknownLanguage(tag, offeredLanguages);
}

/** The service speaks to a club's people in these; the first of the same main language stands in for one without a catalogue. */
const ofClubs: readonly string[] = [...new Set<string>([...offeredLanguages, ...searchedLanguages])];

/** @returns the tag @throws DomainError invalid_request, with the offered ones */
export function requireClubLanguage(tag: string): string {
  if (ofClubs.includes(tag)) return tag;
  throw unknownLanguage(tag, ofClubs);
}

const unknownLanguage = (tag: string, offered: readonly string[]) =>
  new DomainError(
    'invalid_request',
    `language ${JSON.stringify(tag)} is not offered. Send one of ${offered.join(', ')}.`,
  );

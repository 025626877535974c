/** What a page is: it draws, for people with a browser, what an operation answers to programs. */
import type { OperationId, ResponseOf } from '../contract/contract.ts';
import type { Wording } from '../domain/language/wording.ts';
import type { DomainError } from '../platform/core/errors.ts';

export interface HtmlPage<Op extends OperationId> {
  /** What the page may load: as little as it needs. Of a page that loads what the answer names: undefined for a refusal. */
  contentSecurityPolicy: string | ((body: ResponseOf<Op> | undefined) => string);
  /** @returns the HTML of an answer of the operation */
  answer: (body: ResponseOf<Op>) => string;
  /** @param wording in the language of the reader @returns the HTML of a refusal */
  refusal: (error: DomainError, wording: Wording) => string;
}

/** A page for each operation whose success response has `text/html` in the contract: a missing or an extra one stops the start. */
export type HtmlPages = { [Op in OperationId]?: HtmlPage<Op> };

/** A page whose operation is known by its name alone. */
export interface AnyHtmlPage {
  contentSecurityPolicy: string | ((body: never) => string);
  answer: (body: never) => string;
  refusal: (error: DomainError, wording: Wording) => string;
}
